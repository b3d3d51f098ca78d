"""The directive `commands`: every command of the program with its usage, arguments and options, read from click."""

from __future__ import annotations

import re

import click
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from discreet.cli.main import program
from discreet.cli.plugins import PluginCommand


class Commands(Directive):
    """One section for the program itself and one for each command."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        with click.Context(program, info_name="discreet") as above:
            found = [_section("discreet", program, above)]
            for name in program.list_commands(above):
                command = program.get_command(above, name)
                if isinstance(command, PluginCommand):
                    command = command.load()
                if command is None:
                    raise self.error(f"the command {name} has no code")
                with click.Context(command, info_name=name, parent=above) as context:
                    found.append(_section(f"discreet {name}", command, context))
        return found


def _section(title: str, command: click.Command, context: click.Context) -> nodes.section:
    section = nodes.section(ids=[nodes.make_id(title)], names=[title])
    section += nodes.title("", "", nodes.literal(text=title))
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    section += nodes.literal_block(usage, usage, language="text")
    for paragraph in re.split(r"\n\s*\n", command.help or ""):
        section += nodes.paragraph(text=" ".join(paragraph.split()))
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    if isinstance(command, click.Group):
        records += [(name, command.get_command(context, name).short_help) for name in command.list_commands(context)]
    options = nodes.definition_list(classes=["options"])
    for signs, words in filter(None, records):
        if not words:  # an argument, which the text above explains
            continue
        meaning = nodes.definition("", nodes.paragraph(text=" ".join(words.split())))
        options += nodes.definition_list_item("", nodes.term("", "", nodes.literal(text=signs)), meaning)
    section += options
    return section


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
