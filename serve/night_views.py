# SPDX-License-Identifier: Apache-2.0
"""The page of a nightly folder: all nights, and the changes of digests and their nights as charts and text."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, cast

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ..analyze.render.chart_library import Channel, Spec
from ..analyze.render.chart_specs import COLOURS, HEIGHT, WIDTH
from ..analyze.render.templating import script_json
from ..common.exit_codes import ExitCode
from ..common.units import duration, plural, ratio
from .history import History, PlainChange, PlainNight
from .orders import order_of
from .own_pages import shown, site_of
from .rows import url_of
from .shelf import NIGHTS
from .views import made_page

MAX_CHARTS = 12  # charts of digests
WHOLE = "whole"


async def nights_page(request: Request) -> Response:
    """Show the history of a nightly folder."""
    shelf = site_of(request).shelf
    entry = await run_in_threadpool(shelf.entry, request.path_params["name"])
    if entry.kind != NIGHTS:
        return RedirectResponse(url_of(entry.kind, entry.name))
    made = await made_page(request, await run_in_threadpool(order_of, shelf, entry), entry.name)
    if isinstance(made, Response):
        return made
    told = cast(History, json.loads(made))
    prefix = "" if entry.name == "." else f"{entry.name}/"
    view = view_of(told, {night["name"]: url_of("comparison", prefix + night["name"]) for night in told["nights"]})
    charts = [(WHOLE, ratio_chart(whole_series(told), told["whole"]))] if view.drawn_whole else []
    for digest, _ in view.drawn:
        mine = [each for each in told["digests"] if each["digest"] == digest]
        charts.append((digest, ratio_chart(told["series"][digest], mine)))
    return shown(
        request,
        "nights.html.j2",
        name=shelf.root.name if entry.name == "." else entry.name,
        view=view,
        data=script_json(json.dumps({"charts": [{"name": name, "spec": spec} for name, spec in charts]})),
    )


class Piece(NamedTuple):
    """A part of a sentence. `mark`: code, soft, or the tone of emphasised text."""

    text: str
    url: str = ""
    mark: str = ""


class AnswerLine(NamedTuple):
    """A sentence at the top of the page. `tone`: no, yes, unknown. `with_it`: other changes in the same night."""

    tone: str
    pieces: list[Piece]
    with_it: str = ""


class ChangeLine(NamedTuple):
    """A digest that changed. `worth`: the time difference per night."""

    word: str
    text: str
    pieces: list[Piece]
    with_it: str
    worth: str


class NightLine(NamedTuple):
    """A night and the results of its report."""

    name: str
    url: str
    tag: str
    whole: str
    slower: str
    broken: str
    what: str


@dataclass(frozen=True)
class NightsView:
    """The content of the page. `drawn`: the digests with a chart, and their texts."""

    about: str
    answers: list[AnswerLine]
    drawn_whole: bool
    changes: list[ChangeLine]
    more: str
    drawn: list[tuple[str, str]]
    method: str
    nights: list[NightLine]


def view_of(told: History, urls: Mapping[str, str]) -> NightsView:
    """Return the page content for a history. `urls`: the addresses of the nights."""
    drawn = {each["digest"]: each["text"] for each in told["digests"] if each["digest"]}
    return NightsView(
        f"{plural(len(told['nights']), 'night')}, {told['known']} with a report. Each ratio is B's time divided by A's"
        " time in the same night, so effects of the machine cancel out.",
        list(_answers(told, urls)),
        bool(told["known"]),
        [
            ChangeLine(
                _word(each),
                each["text"],
                [Piece(_word(each), mark=_tone(each)), Piece(" "), *_pieces(each, urls)],
                _with_it(each),
                f"{'+' if each['stake'] > 0 else '−'}{duration(int(abs(each['stake'])))}",
            )
            for each in told["digests"]
        ],
        f"Not shown: {plural(told['more'], 'more change')}." if told["more"] else "",
        list(drawn.items())[:MAX_CHARTS],
        f"Changes of at least 10 % (E-Divisive, p at most {told['level']}) in {plural(told['followed'], 'digest')}."
        f" One in {int(1 / told['level'])} unchanged digests may be listed by chance. A change appears after about"
        " three nights.",
        [_night(night, urls) for night in reversed(told["nights"])],
    )


def _answers(told: History, urls: Mapping[str, str]) -> Iterator[AnswerLine]:
    """Yield the answer: a change of all statements together, else a change of the costliest digest, else no change."""
    still = [each for each in told["digests"] if each["slower"] and each["until"] is None]
    if told["known"] < told["least"]:
        text = f"{told['known']} of {told['least']} required nights have a report."
        yield AnswerLine("unknown", [Piece(f"Changes cannot be significant yet: {text}")])
    elif told["whole"]:
        for each in reversed(told["whole"]):
            begin = Piece(f"The total time of all statements became {'longer' if each['slower'] else 'shorter'} ")
            yield AnswerLine("no" if each["slower"] else "yes", [begin, *_pieces(each, urls)], _with_it(each))
    elif still:
        are = "digest is" if len(still) == 1 else "digests are"
        begin = Piece(f"The total time did not change, but {len(still)} {are} slower than before. Most expensive: ")
        pieces = [begin, Piece(still[0]["text"], mark="code"), Piece(" "), *_pieces(still[0], urls)]
        yield AnswerLine("no", pieces, _with_it(still[0]))
    elif told["digests"]:
        text = "No significant slowdown. Changed digests are listed below."
        yield AnswerLine("yes", [Piece(text)])
    else:
        yield AnswerLine("yes", [Piece("No significant change in these nights.")])


def _word(change: PlainChange) -> str:
    return "slower" if change["slower"] else "faster"


def _tone(change: PlainChange) -> str:
    return "bad" if change["slower"] else "good"


def _pieces(change: PlainChange, urls: Mapping[str, str]) -> list[Piece]:
    """Return the sentence on a change: its first night, the ratios before and after, its last night."""
    until = change["until"]
    return [
        Piece("since "),
        Piece(change["at"], urls[change["at"]]),
        Piece(": B takes "),
        Piece(ratio(change["after"]), mark=_tone(change)),
        Piece(f" of A's time ({ratio(change['before'])} before)"),
        *([Piece(", until "), Piece(until, urls[until])] if until else []),
        Piece(" "),
        Piece(f"(p {change['p']:.3f})", mark="soft"),
    ]


def _with_it(change: PlainChange) -> str:
    return f"Also changed in this night: {'; '.join(change['with_it'])}." if change["with_it"] else ""


def _night(night: PlainNight, urls: Mapping[str, str]) -> NightLine:
    tag = "not complete" if not night["complete"] else "gate" if night["exit_code"] == ExitCode.CONDITION else ""
    slower, broken = ("-", "-") if night["problem"] else (str(night["slower"]), str(night["broken"]))
    what = night["problem"] or night["headline"]
    return NightLine(night["name"], urls[night["name"]], tag, ratio(night["whole"]), slower, broken, what)


def whole_series(told: History) -> list[tuple[str, float]]:
    """Return (night, B's time / A's time) of the nights with a known ratio."""
    return [(night["name"], night["whole"]) for night in told["nights"] if night["whole"] is not None]


def ratio_chart(series: Sequence[tuple[str, float]], changes: list[PlainChange]) -> Spec:
    """Return a chart of (night, ratio), with levels as steps and a rule at each change.

    The axis is logarithmic: a doubling and a halving have the same distance.
    """
    nights = [name for name, _ in series]
    starts = [0, *sorted(nights.index(change["at"]) for change in changes), len(nights)]
    levels = []
    for begin, end in pairwise(starts):
        middle = sorted(value for _, value in series[begin:end])[(end - begin) // 2] if end > begin else None
        levels += [{"x": moment(name), "y": middle, "part": begin} for name in nights[begin:end]]
    x: Channel = {
        "field": "x",
        "type": "temporal",
        "scale": {"type": "utc"},
        "title": None,
        "axis": {"format": "%b %d", "labelFlush": True},
    }
    y: Channel = {
        "field": "y",
        "type": "quantitative",
        "scale": {"type": "log", "nice": False, "padding": 12},
        "title": "B / A",
    }
    points = [{"x": moment(name), "y": value, "night": name} for name, value in series]
    rules = [{"x": moment(change["at"]), "night": change["at"], "slower": change["slower"]} for change in changes]
    tooltip: list[Channel] = [
        {"field": "night", "type": "nominal"},
        {"field": "y", "type": "quantitative", "title": "B / A", "format": ".3~g"},
    ]
    rule_colour: Channel = {"condition": {"test": "datum.slower", "value": "#b42318"}, "value": "#067647"}
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "padding": {"left": 5, "right": 20, "top": 5, "bottom": 5},
        "layer": [
            {
                "data": {"values": rules},
                "mark": {"type": "rule", "strokeDash": [5, 3], "strokeWidth": 1.5},
                "encoding": {"x": x, "color": rule_colour, "tooltip": [{"field": "night", "title": "since"}]},
            },
            {
                "data": {"values": levels},
                "mark": {"type": "line", "strokeWidth": 1.2, "opacity": 0.7, "color": COLOURS[1]},
                "encoding": {"x": x, "y": y, "detail": {"field": "part"}},
            },
            {
                "data": {"values": points},
                "mark": {"type": "point", "filled": True, "size": 40, "color": COLOURS[0], "opacity": 0.9},
                "encoding": {"x": x, "y": y, "tooltip": tooltip},
            },
        ],
    }


def moment(name: str) -> str:
    """Return the time of a night's name such as 2026-11-22T0200, as ISO 8601 in UTC."""
    return f"{name[:10]}T{name[11:13]}:{name[13:15]}:00Z"
