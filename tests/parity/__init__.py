"""cogency-rs compared with cogency 3.3.0, by property.

`oracle` runs both over the same input, `differences` names every deliberate difference, `strategies` makes the
inputs. Where no difference applies, the outcomes are equal. Where one applies, cogency is given the input that makes
it do what we promise, so that it is the oracle there too.
"""
