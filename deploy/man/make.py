#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""The man pages, from what the program itself says: make.py PENSTOCK 8|5 > PAGE

8 is penstock(8), from `penstock help` and the help of every command; 5 is penstock.ini(5), from
`penstock help config`. There is no other source, so that page and program cannot differ.
"""

import os
import re
import subprocess
import sys
import textwrap
import time

FILES = [
    ("/etc/penstock/penstock.ini", "configuration of the systemd unit; see penstock.ini(5)"),
    ("/etc/penstock/NAME.ini", "that of the unit penstock-bridge@NAME, which may be the same"),
    ("/run/penstock-bridge", "telemetry of the bridges that run as units"),
    ("/dev/shm/penstock", "feeds, unless [feed] dir names another place"),
    ("/var/lib/penstock", "what penstock init changed, until penstock fini"),
]


def ask(*words):
    return subprocess.run([sys.argv[1], *words], check=True, capture_output=True, text=True).stdout


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\\&" + text if text.startswith(".") else text


def roff(text):
    lines = textwrap.wrap(text, 70, break_long_words=False, break_on_hyphens=False)
    return "\n".join(escape(line) for line in lines)


def header(name, section, version, what):
    now = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    date = time.strftime("%Y-%m-%d", now)
    print(f'.TH {roff(name).upper()} {section} {date} "penstock {version}" "Penstock"')
    print(f".SH NAME\n{roff(name)} \\- {what}")


def verbatim(lines):
    print(".PP\n.EX")
    for line in lines:
        print(escape(line))
    print(".EE")


def item(term, text):
    print(f".TP\n.B {roff(term)}\n{roff(text)}")


def options(lines):
    """Lines such as "  -c FILE  configuration", the text of which may go on in the next ones."""
    items = []
    for line in lines:
        m = re.match(r"  (\S.*?)(?:  +(.*))?$", line)
        if m:
            items.append([m[1], m[2] or ""])
        else:
            items[-1][1] += " " + line.strip()
    for term, text in items:
        item(term, text.strip())


def paragraphs(text):
    """Blocks between empty lines; within one, words and options follow each other."""
    for block in text.strip("\n").split("\n\n"):
        lines = block.split("\n")
        at = next((i for i, line in enumerate(lines) if line.startswith("  ")), len(lines))
        if at > 0:
            print(".PP\n" + roff(" ".join(lines[:at])))
        end = next((i for i in range(at, len(lines)) if not lines[i].startswith("  ")), len(lines))
        if at < end:
            options(lines[at:end])
        if end < len(lines):
            paragraphs("\n".join(lines[end:]))


def command(name, summary):
    usage, _, rest = ask("help", name).partition("\n\n")
    print(f".SS {roff(name)}\n{roff(summary)}.")
    verbatim(usage.replace("usage: ", "", 1).split("\n"))
    paragraphs(rest)


def penstock_8(version):
    overview = ask("help")
    header("penstock", 8, version, "TPU QUIC ingest for a Solana validator")
    print(".SH SYNOPSIS\n.B penstock\n.I COMMAND\n.RI [ ARGUMENTS ]\n.SH DESCRIPTION")
    print(roff("Takes a validator's UDP off the network card without the kernel, terminates TPU QUIC on "
               "processors of its own, and hands transactions and datagrams over in shared memory."))
    print(".SH COMMANDS")
    for name, summary in re.findall(r"^  (\S+) +(.*)$", overview, re.M):
        command(name, summary)
    print(".SH EXIT STATUS")
    options(["  0  done", "  1  not ready, or failed", "  2  a mistake on the command line"])
    print(".SH DROP REASONS\nCounted in telemetry and shown by\n.BR \"penstock top\" .")
    for key, text in re.findall(r"^(\S+) +(.*)$", ask("help", "drops"), re.M):
        item(key, text)
    print(".SH FILES")
    for path, text in FILES:
        item(path, text)
    print(".SH SEE ALSO\n.BR penstock.ini (5)")


def penstock_ini_5(version):
    header("penstock.ini", 5, version, "configuration of penstock")
    print(".SH DESCRIPTION")
    print(roff("An INI file: sections in brackets, key = value, and comments after a semicolon. A value "
               "holds 255 bytes. Sections with NAME come once for each port or service. The option -o of "
               "penstock run sets the same keys."))
    section = re.compile(r"^\[(.+)\]$")
    for line in ask("help", "config").split("\n"):
        m = section.match(line)
        if m:
            print(f'.SH "[{roff(m[1])}]"')
        elif re.match(r"  \S", line):
            key, _, value = line.strip().partition(" ")
            print(f'.TP\n.BR {roff(key)} " = {roff(value.strip())}"')
        elif line.strip():
            print(roff(line.strip()))
    print(".SH SEE ALSO\n.BR penstock (8)")


def main():
    version = ask("version").split()[1].rstrip(",")
    {"8": penstock_8, "5": penstock_ini_5}[sys.argv[2]](version)


main()
