//! What an agent does after a step of its model.

use super::TurnOutcome;

/// What is known when a step is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// How the step came out.
    pub outcome: TurnOutcome,
    /// Whether a limit, a tool, a hook or the user asked the run to stop.
    pub is_to_stop: bool,
    /// Whether a hook asked it to go on anyway.
    pub is_to_go_on: bool,
    /// Whether the answer was refused: a call, or a value of another type, was required.
    pub is_refused: bool,
}

/// What to do next. These are all within a major version: a program must do each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Ask the model again.
    GoOn,
    /// Ask it again; it is shown what was wrong.
    Recover,
    /// Wait until the calls are approved or refused.
    Wait,
    /// The run is over.
    Stop,
}

impl Decision {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::GoOn => "go_on",
            Self::Recover => "recover",
            Self::Wait => "wait",
            Self::Stop => "stop",
        }
    }
}

/// What to do after a step. Calls that wait for approval come first, since they have no results yet; then a request to stop
/// or go on; then the outcome of the step itself.
#[must_use]
pub fn decide(situation: Situation) -> Decision {
    let Situation { outcome, is_to_stop, is_to_go_on, is_refused } = situation;
    match outcome {
        TurnOutcome::Waiting => Decision::Wait,
        TurnOutcome::Failed => Decision::Stop,
        _ if is_to_stop && !is_to_go_on => Decision::Stop,
        TurnOutcome::Malformed | TurnOutcome::Truncated => Decision::Recover,
        TurnOutcome::Answered | TurnOutcome::Ended if is_refused => Decision::Recover,
        TurnOutcome::Acted => Decision::GoOn,
        TurnOutcome::Refused | TurnOutcome::Answered | TurnOutcome::Ended if is_to_go_on => {
            Decision::GoOn
        }
        TurnOutcome::Refused | TurnOutcome::Answered | TurnOutcome::Ended => Decision::Stop,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Decision::{GoOn, Recover, Stop, Wait};
    use TurnOutcome::{Acted, Answered, Ended, Failed, Malformed, Refused, Truncated, Waiting};

    #[test]
    fn the_outcome_and_the_requests_decide_what_follows_a_step() {
        // For each outcome, by what was asked for (nothing, to stop, to go on, both): an accepted answer, a refused one.
        for (outcome, expected, refused) in [
            (Acted, [GoOn, Stop, GoOn, GoOn], [GoOn, Stop, GoOn, GoOn]),
            (Answered, [Stop, Stop, GoOn, GoOn], [Recover, Stop, Recover, Recover]),
            (Ended, [Stop, Stop, GoOn, GoOn], [Recover, Stop, Recover, Recover]),
            (Malformed, [Recover, Stop, Recover, Recover], [Recover, Stop, Recover, Recover]),
            (Truncated, [Recover, Stop, Recover, Recover], [Recover, Stop, Recover, Recover]),
            (Refused, [Stop, Stop, GoOn, GoOn], [Stop, Stop, GoOn, GoOn]),
            (Waiting, [Wait; 4], [Wait; 4]),
            (Failed, [Stop; 4], [Stop; 4]),
        ] {
            for (is_refused, row) in [(false, expected), (true, refused)] {
                for (index, decision) in row.into_iter().enumerate() {
                    let (is_to_stop, is_to_go_on) = (index & 1 == 1, index & 2 == 2);
                    let situation = Situation { outcome, is_to_stop, is_to_go_on, is_refused };
                    assert_eq!(decide(situation), decision, "{situation:?}");
                }
            }
        }
    }
}
