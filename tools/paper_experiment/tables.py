"""The rows of the experiment as Markdown: loads by rate, loads by streams, the model, and what was not had.

It must not leave a cell out: what failed is a row with its reason.
"""

import math
from collections import defaultdict

from . import model
from .client import Cannot
from .clients import ALL

NONE = "-"


def number(value, digits=2):
    if value is None:
        return NONE
    if math.isinf(value):
        return "no bound"
    if digits == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:,.{digits}f}"


def pair(mean, p99):
    return NONE if mean is None else f"{number(mean)} / {number(p99)}"


def minus(value, other):
    return None if value is None or other is None else value - other


def achieved(row):
    """Requests/s on the wire by the server's log, else by the client's own account."""
    true = (row.get("truth") or {}).get("rate")
    return true if true is not None else row.get("reported", {}).get("rate")


def busy(row):
    """The server's CPU time for a request times requests/s: its share of its core while it was asked."""
    true = row.get("truth") or {}
    if row.get("server_cpu_s") is None or not true.get("rate"):
        return None
    return row["server_cpu_s"] / true["requests"] * true["rate"]


def title(row):
    return ALL[row["cell"]["client"]].title


def order(rows):
    """By server and load, then as the clients are listed, their settings and cores."""
    names = list(ALL)

    def place(row):
        cell = row["cell"]
        return (cell["server"], cell["tokens_per_s"], cell["load"]["tokens"], cell["load"]["amount"],
                names.index(cell["client"]), cell["setting"], cell["cores"] != "one")

    return sorted(rows, key=place)


def lead(row):
    cell = row["cell"]
    return [title(row), cell["setting"], cell["cores"]]


def cells(row):
    """The columns that tables of rates and of streams share."""
    said, true = row.get("reported", {}), row.get("truth") or {}
    used = row.get("usage")
    added = minus(said.get("e2e_mean"), true.get("e2e_mean")), minus(said.get("e2e_p99"), true.get("e2e_p99"))
    return {
        "achieved": number(achieved(row), 0), "reports": number(said.get("rate"), 0),
        "TTFT, it says": pair(said.get("ttft_mean"), said.get("ttft_p99")),
        "TTFT, truth": pair(true.get("ttft_mean"), true.get("ttft_p99")),
        "E2E, it says": pair(said.get("e2e_mean"), said.get("e2e_p99")),
        "E2E, truth": pair(true.get("e2e_mean"), true.get("e2e_p99")),
        "added to E2E": NONE if added[0] is None else f"{number(added[0])} / {number(added[1])}",
        "CPU s": number(used and used["cpu_s"], 1), "MiB": number(used and used["resident_mib"], 0),
        "server busy": NONE if busy(row) is None else f"{100 * busy(row):.0f} %",
    }


def remarks(row):
    said = row.get("reported", {})
    words = [row["reason"]] if row["outcome"] != "measured" else []
    if row["outcome"] == "failed" and (row.get("truth") or {}).get("requests"):
        words.append(f"{row['truth']['requests']:,} of {row['cell']['load']['requests']:,} requests came")
    if said.get("failed"):
        words.append(f"{said['failed']:,} failed")
    if said.get("late_mean") is not None and said["late_mean"] > 1:
        words.append(f"{number(said['late_mean'])} ms late on average, by its own account")
    if said.get("words"):
        words.append(said["words"])
    return "; ".join(words).replace("|", "\\|")


def markdown(heading, rows):
    yield "| " + " | ".join(heading) + " |"
    yield "|" + "---|" * len(heading)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


SHARED = ["TTFT, it says", "TTFT, truth", "E2E, it says", "E2E, truth", "added to E2E", "CPU s", "MiB", "server busy"]


def rates(rows):
    """The tables of requests/s, one for each server and answer length."""
    groups = defaultdict(list)
    for row in order(rows):
        cell = row["cell"]
        if cell["load"]["kind"] == "rate":
            groups[cell["server"], cell["load"]["tokens"], cell["load"]["seconds"]].append(row)
    for (server, tokens, seconds), group in groups.items():
        # A server that was given takes the time it takes.
        pace = "" if server == "url" else " at once"
        yield f"Server `{server}`, answers of {tokens} tokens{pace}, {seconds} s; ms as mean / p99:"
        yield ""
        heading = ["asked /s", "client", "settings", "cores", "achieved /s", "reports /s", *SHARED, "remarks"]
        yield from markdown(heading, (
            [f"{row['cell']['load']['amount']:,}", *lead(row), found["achieved"], found["reports"],
             *(found[name] for name in SHARED), remarks(row)]
            for row in group for found in [cells(row)]
        ))
        yield ""


def streams(rows):
    """The tables of streams kept open, one for each server and pace."""
    groups = defaultdict(list)
    for row in order(rows):
        cell = row["cell"]
        if cell["load"]["kind"] == "streams":
            groups[cell["server"], cell["tokens_per_s"], cell["load"]["tokens"]].append(row)
    for (server, pace, tokens), group in groups.items():
        yield (f"Server `{server}`, each stream {pace} tokens/s, answers of {tokens} tokens, two in turn on each stream; "
               "ms as mean / p99:")
        yield ""
        heading = ["streams", "client", "settings", "cores", "most at once", "TPOT, it says", "TPOT, truth", *SHARED, "remarks"]
        yield from markdown(heading, (
            [f"{row['cell']['load']['amount']:,}", *lead(row), number((row.get("truth") or {}).get("in_flight"), 0),
             number(row.get("reported", {}).get("tpot_mean")), number((row.get("truth") or {}).get("tpot_mean")),
             *(found[name] for name in SHARED), remarks(row)]
            for row in group for found in [cells(row)]
        ))
        yield ""


SATURATED_SERVER = 0.9
"""A server that is busy for so large a share of the time has limited what was achieved."""


def fitted(rows):
    """For each client, setting, cores, server and answer length: its rows under rates, the fit, and whether that is of rates it kept up with.

    One that was not finished in time has shown what it achieves, and nothing else.
    """
    groups = defaultdict(list)
    for row in order(rows):
        cell = row["cell"]
        if cell["load"]["kind"] == "rate" and row.get("usage") and achieved(row):
            groups[cell["server"], cell["load"]["tokens"], cell["client"], cell["setting"], cell["cores"]].append(row)
    for key, group in groups.items():
        whole = [row for row in group if row["outcome"] == "measured"]
        kept = [row for row in whole if achieved(row) >= model.KEPT_UP * row["cell"]["load"]["amount"]]

        def points(some):
            return [(row["reported"]["completed"], row["usage"]["cpu_s"]) for row in some]

        # Once it has fallen behind, what a request costs is another thing; with fewer than two rates there is no choice.
        found = model.fit(points(kept))
        yield key, group, found or model.fit(points(whole)), found is not None


def models(rows, wanted=(1000, 5000, 10000)):
    """rho = lambda / mu for each client: predicted and observed saturation and wait, and the processes that are needed."""
    heading = ["server", "tokens", "client", "settings", "cores", "CPU ms a request", "start-up, CPU s", "mu of a core /s",
               "saturates at, predicted /s", "observed /s", "rho at the most that was asked",
               "wait there, predicted, ms (c2 0 to 1)", "added to E2E there, ms", *(f"k for {rate:,}/s" for rate in wanted)]
    lines, weak = [], False
    for (server, tokens, name, setting, which), group, found, kept in fitted(rows):
        # One rate has no slope.
        if len(group) < 2:
            continue
        client, most = ALL[name], group[-1]
        cores = client.spreads(setting == "high", len(most["client_cpus"]))
        asked = most["cell"]["load"]["amount"]
        lines.append([server, f"{tokens:,}", client.title, setting, which, *model_cells(group, found, cores, asked, most)])
        if found:
            if not kept:
                lines[-1][5] += " *"
                weak = True
            lines[-1] += [number(model.processes_for(rate, found.mu), 0) for rate in wanted]
        else:
            lines[-1] += [NONE] * len(wanted)
    if not lines:
        return
    yield from markdown(heading, lines)
    if weak:
        yield ""
        yield "\\* from cells in which it had fallen behind too: fewer than two rates were kept."


def model_cells(group, found, cores, asked, most):
    rates_seen = [(row["cell"]["load"]["amount"], achieved(row)) for row in group]
    top, is_limit = model.observed_saturation(rates_seen)
    limited = is_limit and any((busy(row) or 0) > SATURATED_SERVER for row in group)
    observed = NONE if top is None else ("" if is_limit else "above ") + number(top, 0) + (" (the server's)" if limited else "")
    cells_of = most.get("truth") or {}
    added = minus(most.get("reported", {}).get("e2e_mean"), cells_of.get("e2e_mean"))
    if found is None:
        return [NONE, NONE, NONE, NONE, observed, NONE, NONE, number(added)]
    low, high = (model.wait_s(asked, found.mu, cores, variation) * 1e3 for variation in (0.0, 1.0))
    wait = "no bound" if math.isinf(high) else f"{number(low)} to {number(high)}"
    return [number(found.cost_s * 1e3, 3), number(found.start_s, 1), number(found.mu, 0),
            number(model.saturation(found.mu, cores), 0), observed,
            f"{model.rho(asked, found.mu, cores):.2f} ({asked:,}/s)", wait, number(added)]


def circumstances(rows):
    """Where and when, and which versions."""
    rows = [row for row in rows if row["outcome"] != "not had"]
    if not rows:
        return
    when = sorted(row["when"] for row in rows)
    for machine in sorted({row["machine"] for row in rows}):
        yield f"{machine}; {when[0]} to {when[-1]}, {len(rows)} cells."
    versions = {title(row): row["version"] for row in order(rows) if row.get("version")}
    yield "Versions: " + ", ".join(f"{name} {version}" for name, version in versions.items()) + "."
    stolen = max(rows, key=lambda row: row.get("stolen_s", 0))
    if stolen.get("stolen_s", 0) > 0.01 * stolen["usage"]["wall_s"]:
        yield f"At most {stolen['stolen_s']:.1f} s of CPU time were stolen from the machine in a cell of {stolen['usage']['wall_s']:.0f} s."
    yield ""


def everything(rows):
    """All tables, with a heading each."""
    rows = list(rows.values()) if isinstance(rows, dict) else list(rows)
    yield from circumstances(rows)
    had = [row for row in rows if row["outcome"] != "not had"]
    for heading, lines in (("Requests by rate", rates(had)), ("Streams kept open", streams(had)),
                           ("The model: rho = lambda / mu", models(had))):
        lines = list(lines)
        if len(lines) > 2:
            yield f"#### {heading}"
            yield ""
            yield from lines
            yield ""
    missing = {}
    for row in order(rows):
        if row["outcome"] == "not had":
            missing.setdefault((title(row), row["cell"]["setting"], row["reason"]), None)
    if missing:
        yield "#### Not had"
        yield ""
        yield from markdown(["client", "settings", "why"], ([name, setting, why.replace("|", "\\|")] for name, setting, why in missing))
        yield ""


def words_of(version_of):
    """What a client's settings and arrivals are, as a table; `version_of` tells a client's version."""
    for client in ALL.values():
        if client.missing:
            continue
        yield [client.title, version_of(client), client.arrivals, client.ttft or "no TTFT: it knows no tokens",
               client.high or "none documented"]


def clients(version_of):
    yield from markdown(["client", "version", "arrivals by default", "its TTFT ends with", "settings for high rates"],
                        words_of(version_of))


BEGIN, END = "<!-- tools/paper --table: begin -->", "<!-- tools/paper --table: end -->"


def put(path, text):
    """Replaces what stands between the marks of a Markdown file."""
    with open(path, encoding="utf-8") as file:
        before, begin, rest = file.read().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise Cannot(f"{path} has not the marks {BEGIN} and {END}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n\n{text.strip()}\n\n{END}{after}")
