"""The tools of `python.rs`: each with the JSON Schema of its arguments."""

import asyncio

DEGREES = {"Oslo": 4, "Lima": 19}


async def weather(city):
    """How warm it is in a city."""
    await asyncio.sleep(0)  # a request to a service, in a tool of your own
    if city not in DEGREES:
        raise LookupError(f"no weather is known for {city}; try one of {', '.join(DEGREES)}")
    return {"city": city, "degrees": DEGREES[city]}


def fahrenheit(degrees):
    """Degrees Celsius as degrees Fahrenheit."""
    return degrees * 9 / 5 + 32


TOOLS = [
    (weather, {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
    (
        fahrenheit,
        {"type": "object", "properties": {"degrees": {"type": "number"}}, "required": ["degrees"]},
    ),
]
