#!/usr/bin/env python3
"""Composes cases from the contexts of cases.jsonl and new messages: compose.py SPEC OUT.

Each line of SPEC: lang | context case id | changes | message | expected | accepted; …
Changes: focus=T2, reply=task:T3, reply=approval:A1, T1.state=failed, T1.idle=200, or nothing.
Expected: intent field=value …  (candidates=A1,A2)
"""
import copy
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
CASES = {c["id"]: c for c in map(json.loads, (HERE / "cases.jsonl").read_text().splitlines())}


def label(text):
    intent, *fields = text.split()
    out = {"intent": intent}
    for field in fields:
        name, value = field.split("=")
        out[name] = value.split(",") if name == "candidates" else value
    return out


def change(context, text):
    for item in text.split():
        name, value = item.split("=", 1)
        if name == "focus":
            context["focus"] = None if value == "null" else value
        elif name == "reply":
            kind, ref = value.split(":")
            context["reply_to"] = {kind: ref}
        else:
            task_id, field = name.split(".")
            task = next(t for t in context["tasks"] if t["id"] == task_id)
            if field == "idle":
                task["idle_minutes"] = int(value)
            elif field == "said":
                task["last_said"] = value.replace("_", " ")
            else:
                task["state"] = value
                for execution in task["executions"]:
                    if execution["primary"]:
                        execution["state"] = value


def main(spec, out):
    lines = []
    for number, line in enumerate(pathlib.Path(spec).read_text().splitlines()):
        if not line.strip() or line.startswith("#"):
            continue
        lang, base, changes, message, expected, *accepted = [part.strip() for part in line.split(" | ")]
        context = copy.deepcopy(CASES[base]["context"])
        change(context, changes if changes != "-" else "")
        expect = label(expected)
        case = {"id": f"{lang}-{expect['intent']}-{number:03}", "lang": lang, "message": message, "context": context,
                "expect": expect}
        if accepted:
            case["accept"] = [label(a) for a in accepted[0].split(";")]
        lines.append(json.dumps(case, ensure_ascii=False))
    pathlib.Path(out).write_text("\n".join(lines) + "\n")


main(*sys.argv[1:3])
