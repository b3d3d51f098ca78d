"""Fingerprint the code that the proofs were read against.

Every top-level definition (function, class or constant) of the packages that lie between the cells of a table and a
noisy number belongs to a proof, or is listed as one that no guarantee rests on. `tests/repository/proofs.json` stores
both. A fingerprint ignores layout, docstrings and the names of modules, so that code can be moved without another
reading.

Run with --accept after re-reading a proof against changed code.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "discreet"
OTHERS = sorted((ROOT / "packages").glob("*/src"))
STORE = ROOT / "tests" / "repository" / "proofs.json"
TAG = re.compile(r"\[P:([a-z0-9-]+)\]")
# every definition here needs a proof; from `releases` on, everything is post-processing
TRUSTED = (
    "exact/",
    "privacy/",
    "design/",
    "tables/",
    "curator/",
    "mechanisms/",
    "primitives/",
    "ledger/",
    "accounting/",
    "parts/",
    "spark/",
    "workflow.py",
    "release_request.py",
)
# a proof may list definitions here too
FINGERPRINTED = (*TRUSTED, "discreet_papers/baselines/", "options.py")
# beginnings of the names of modules that are read here
OWN = ("discreet.", "discreet_papers.", "discreet_studio.")
Function = ast.FunctionDef | ast.AsyncFunctionDef
# tables by mechanism, of which every entry has a fingerprint, so that a new mechanism leaves other proofs as read
TABLES = ("MECHANISMS",)
# the proof that every mechanism rests on, in addition to the proof of its name
OF_EVERY_MECHANISM = "maps.proof.md"


def proofs() -> list[Path]:
    return sorted(
        [path for folder in (PACKAGE, *OTHERS) for path in folder.rglob("*.proof.md")], key=lambda path: path.name
    )


def sources() -> dict[str, str]:
    """Read every module, by its path in the library, or by one that begins with the name of another package."""
    folders = (PACKAGE, *OTHERS)
    return {path.relative_to(one).as_posix(): path.read_text() for one in folders for path in sorted(one.rglob("*.py"))}


def named_files(proof: Path) -> list[str]:
    """List the modules and proofs that the head of a proof names."""
    return re.findall(r"`([\w/]+\.(?:py|proof\.md))`", proof.read_text().split("\n## ")[0])


def tags(text: str) -> list[str]:
    return TAG.findall(text)


def code_tags(source: str) -> Iterator[str]:
    """Yield the tags in the comments of a module; a tag outside any function is an error."""
    inside = [range(node.lineno, (node.end_lineno or 0) + 1) for node in ast.walk(ast.parse(source))
              if isinstance(node, Function)]  # fmt: skip
    for number, line in enumerate(source.splitlines(), start=1):
        for tag in TAG.findall(line.partition("#")[2]):
            if not any(number in lines for lines in inside):
                raise ValueError(f"the tag {tag} on line {number} is outside any function")
            yield tag


# -- definitions and their fingerprints --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Definition:
    """A top-level definition with the module it is in."""

    file: str
    name: str
    node: ast.stmt


class Code:
    """The definitions of a package, and what the names in them refer to."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self.trees = {file: ast.parse(source) for file, source in modules.items()}
        self.definitions = [one for file, tree in self.trees.items() for one in _definitions(file, tree.body)]
        self._by_place = {(one.file, one.name): one for one in self.definitions}
        self._imports = {file: self._imported(tree) for file, tree in self.trees.items()}
        uses = Counter(one.name for one in self.definitions)
        self._ambiguous = {name for name, count in uses.items() if count > 1}

    @cached_property
    def fingerprinted(self) -> list[tuple[Definition, str]]:
        """The definitions that a proof may list, with their fingerprints."""
        listed = [one for one in self.definitions if one.file.startswith(FINGERPRINTED)]
        return [(part, self.fingerprint(part)) for one in listed for part in _parts(one)]

    @cached_property
    def entries(self) -> Counter[str]:
        return Counter(entry(one, digest) for one, digest in self.fingerprinted)

    def fingerprint(self, one: Definition) -> str:
        """Digest a definition.

        A name that several modules define is digested with the definition it refers to, and an imported name with the
        library it comes from, so that another import is another fingerprint.
        """
        names = self._imports[one.file] | self._imported(one.node)
        return _digest(_Resolved(self, one.file, names).text(one.node))

    def referred(self, one: Definition) -> Iterator[Definition]:
        """Yield the definitions of the package that a definition names."""
        names = self._imports[one.file] | self._imported(one.node)
        for node in ast.walk(one.node):
            target = None
            if isinstance(node, ast.Name):
                target = self.resolve(one.file, node.id, names)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                module = self.module(names.get(node.value.id, ""))
                target = self.resolve(module, node.attr) if module else None
            if target is not None:
                yield target

    def resolve(self, file: str, name: str, names: Mapping[str, str] | None = None) -> Definition | None:
        """Find the definition that a name refers to, through any number of imports."""
        for _ in range(10):
            if (file, name) in self._by_place:
                return self._by_place[file, name]
            dotted = (self._imports[file] if names is None else names).get(name, "")
            module, _, name = dotted.rpartition(".")
            found = self.module(module)
            if found is None:
                return None
            file, names = found, None
        return None

    def module(self, dotted: str) -> str | None:
        """Return the file of a module of the package, or None."""
        if not dotted.startswith(OWN):
            return None
        path = dotted.removeprefix("discreet.").replace(".", "/")
        return next((file for file in (f"{path}.py", f"{path}/__init__.py") if file in self.trees), None)

    def label(self, target: Definition) -> str:
        if target.name not in self._ambiguous:
            return target.name
        return f"{target.name}#{_digest(_Plain().text(target.node))}"

    @staticmethod
    def _imported(tree: ast.AST) -> dict[str, str]:
        """Map every imported name to its dotted source."""
        found = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, "imports inside the package are absolute"
                found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                found |= {alias.asname or alias.name.split(".")[0]: alias.name for alias in node.names}
        return found


class _Plain:
    """Write a syntax tree as text, without layout, docstrings and imports."""

    def text(self, value: object) -> str:
        if isinstance(value, ast.AST):
            fields = ((name, getattr(value, name, None)) for name in value._fields)
            kept = (self._body(value, inner) if name == "body" else inner for name, inner in fields)
            return f"{type(value).__name__}({','.join(map(self.text, kept))})"
        if isinstance(value, list):
            return f"[{','.join(map(self.text, value))}]"
        return repr(value)

    @staticmethod
    def _body(node: ast.AST, body: object) -> object:
        if not isinstance(body, list):
            return body
        documented = isinstance(node, Function | ast.ClassDef) and body and _is_docstring(body[0])
        return [one for one in body[bool(documented) :] if not isinstance(one, ast.Import | ast.ImportFrom)]


class _Resolved(_Plain):
    """Write names as what they refer to."""

    def __init__(self, code: Code, file: str, names: Mapping[str, str]) -> None:
        self.code, self.file, self.names = code, file, names

    def text(self, value: object) -> str:
        if isinstance(value, ast.Name):
            target = self.code.resolve(self.file, value.id, self.names)
            outside = self.names.get(value.id, OWN[0])
            if target is not None:
                return f"Name({self.code.label(target)})"
            return f"Name({value.id if outside.startswith(OWN) else outside})"
        if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
            module = self.code.module(self.names.get(value.value.id, ""))
            target = self.code.resolve(module, value.attr) if module else None
            if target is not None:
                return f"Name({self.code.label(target)})"
        return super().text(value)


def _definitions(file: str, body: list[ast.stmt]) -> Iterator[Definition]:
    for node in body:
        if isinstance(node, Function | ast.ClassDef):
            yield Definition(file, node.name, node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                        yield Definition(file, name.id, node)
        elif isinstance(node, ast.If | ast.Try):
            yield from _definitions(
                file, [inner for inner in ast.walk(node) if isinstance(inner, ast.Assign | Function)]
            )
        elif not isinstance(node, ast.Import | ast.ImportFrom) and not _is_docstring(node):
            yield Definition(file, ast.unparse(node)[:60], node)


def _parts(one: Definition) -> Iterator[Definition]:
    """Yield a definition, or each entry of a table by mechanism."""
    if one.name not in TABLES:
        yield one
        return
    table = next(inner for inner in ast.walk(one.node) if isinstance(inner, ast.Dict))
    for key, value in zip(table.keys, table.values, strict=True):
        assert isinstance(key, ast.Constant), "the keys of a table by mechanism are names"
        yield Definition(one.file, f"{one.name}[{key.value}]", ast.Expr(value))


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def entry(one: Definition, digest: str) -> str:
    return f"{one.name} {digest}"


# -- the gate ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Accepted:
    """What was accepted at the last reading: entries by proof, and by reason the names that need none."""

    proofs: dict[str, list[str]]
    exempt: dict[str, list[str]]

    def exempt_names(self) -> Counter[str]:
        return Counter(name for names in self.exempt.values() for name in names)


def accepted() -> Accepted:
    return Accepted(**json.loads(STORE.read_text()))


def stale(code: Code, store: Accepted) -> set[str]:
    """Return the proofs that were read against other code."""
    return {name for name, listed in store.proofs.items() if any(one not in code.entries for one in listed)}


def uncovered(code: Code, store: Accepted) -> list[str]:
    """Return the definitions that belong to no proof and are not exempt."""
    listed = {one for entries in store.proofs.values() for one in entries}
    allowed = store.exempt_names()
    found = []
    for one, digest in code.fingerprinted:
        if entry(one, digest) in listed or not one.file.startswith(TRUSTED):
            continue
        if allowed[one.name] > 0:
            allowed[one.name] -= 1
        else:
            found.append(f"{one.file}:{one.name}")
    return found


# -- acceptance --------------------------------------------------------------------------------------------------------


def renewed(code: Code, store: Accepted) -> tuple[Accepted, list[str]]:
    """Renew every fingerprint, and give a new definition to the proof whose code refers to it."""
    exempt = store.exempt_names()
    homes: dict[str, set[str]] = {}
    for proof, listed in store.proofs.items():
        for one in listed:
            homes.setdefault(one.split(" ")[0] if one not in code.entries else one, set()).add(proof)
    owners: dict[Definition, set[str]] = {}
    orphans = []
    for one, digest in code.fingerprinted:
        found = homes.get(entry(one, digest)) or homes.get(one.name)
        if found:
            owners[one] = found
        elif exempt[one.name] > 0:
            exempt[one.name] -= 1
        elif one.file.startswith(TRUSTED):
            orphans.append(one)
    notes = []
    for one in _callers_first(orphans, code):
        if (named := _named_proofs(one)) & set(store.proofs):
            notes.append(f"{one.file}:{one.name} -> {', '.join(sorted(named))}")
            owners[one] = named
            continue
        users = [user for user in owners if one in set(code.referred(user))]
        beside = Counter(proof for user, names in owners.items() if user.file == one.file for proof in names)
        choice = owners[users[0]] if users else {beside.most_common(1)[0][0]} if beside else set()
        notes.append(f"{one.file}:{one.name} -> {', '.join(sorted(choice)) or 'no proof: add it to one or exempt it'}")
        if choice:
            owners[one] = set(choice)
    entries: dict[str, list[str]] = {path.name: [] for path in proofs()}
    digests = {id(one): digest for one, digest in code.fingerprinted}
    for one, names in owners.items():
        for proof in names & set(entries):
            entries[proof].append(entry(one, digests[id(one)]))
    left = store.exempt_names() - exempt
    kept = {reason: [name for name in names if left[name] > 0] for reason, names in store.exempt.items()}
    return Accepted({name: sorted(set(found)) for name, found in entries.items()}, kept), notes


def _named_proofs(one: Definition) -> set[str]:
    """Return the proofs of an entry of a table by mechanism."""
    table, _, mechanism = one.name.rstrip("]").partition("[")
    return {f"{mechanism.replace('-', '_')}.proof.md", OF_EVERY_MECHANISM} if table in TABLES else set()


def _callers_first(orphans: list[Definition], code: Code) -> list[Definition]:
    """Order new definitions so that one comes after those that refer to it, where that is possible."""
    referred = {id(target) for one in orphans for target in code.referred(one) if target is not one}
    return sorted(orphans, key=lambda one: id(one) in referred)


def write(store: Accepted) -> None:
    STORE.write_text(json.dumps({"proofs": store.proofs, "exempt": store.exempt}, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["--accept"]:
        sys.exit("usage: proof_gate.py --accept")
    code, store = Code(sources()), accepted()
    changed = stale(code, store)
    new, notes = renewed(code, store)
    write(new)
    print("\n".join([*(f"renewed {name}" for name in sorted(changed)), *(f"new: {note}" for note in notes)]))
