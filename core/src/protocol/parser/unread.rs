//! Hands out blocks that give no calls as text.

use super::super::Event;
use super::super::unread::Unread;
use super::Parser;
use super::state::OpenRun;

impl Parser {
    /// Whether a block that gives no calls is text of the answer.
    pub(super) fn shows_unread(&self) -> bool {
        self.unread != Unread::Reported
    }

    /// Whether all calls of a block may be made.
    pub(super) fn may_call(&self, said: &[Event]) -> bool {
        let Unread::Text(callable) = &self.unread else { return true };
        let mut names = said.iter().filter_map(|event| match event {
            Event::Call(call) => Some(call.name_json()),
            _ => None,
        });
        let tools = self.scope.tools.as_deref();
        names.all(|name| callable.allows(name, tools))
    }

    /// Hands out text of a block as text of the answer, of which the space after it is a part.
    pub(super) fn say_unread(&mut self, text: &[u8], events: &mut Vec<Event>) {
        if !text.is_empty() {
            self.say(Event::Respond(text.into()), events);
            self.run = OpenRun::Shown;
        }
    }
}
