"""cogency-rs against cogency 3.3.0, by property.

`oracle` runs both over the same input, `differences` names every deliberate difference, `strategies` makes the
inputs. Outside the named differences the outcomes are equal; inside them cogency is run over the input that
makes it do what we promise, so that it stays the oracle there too.
"""
