"""Trees of lxml: written as XML, and their elements found again by their places in them.

An element is a view of a node of its tree, and lxml gives the same one as long as somebody holds it. So all that
belongs to a tree is written once in a stream, and what comes back are the nodes of one tree that was read from it.
"""

import gc
import importlib
import itertools
import sys
from pickle import PicklingError
from typing import Any

OF_LIBRARY = ("lxml.etree", "lxml.html")
MOST_NODES = 200_000
"""Nodes up to which a tree is kept: it is written and read once more at each step."""
MOST_FOR_TEXTS = 10_000
"""Nodes up to which it is kept for texts alone, which are as well without."""


class Nodes:
    """Stands in a stream for a list of all nodes of a tree.

    Args:
        data: The tree as XML.
        known: What XML does not say of it: what its elements are (`kind`: the name of a module of lxml), the address
            that it was read from, the text behind its root, whether it is a document, which may have something beside
            its root, the lines where its nodes stood, and the places of texts that are empty.
    """

    def __init__(self, data: bytes, known: dict[str, Any]) -> None:
        self._made_of = data, known
        self.texts = Texts(self)

    def __reduce__(self) -> Any:
        return read_nodes, self._made_of


class Texts:
    """Stands in a stream for the texts and attributes in a tree, as XPath finds them."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    def __reduce__(self) -> Any:
        return find_texts, (self._nodes,)


class Tree:
    """The nodes of a tree, or why it does not come back; holds the nodes, so that these stay the same.

    Args:
        nodes: All nodes of the tree.
    """

    def __init__(self, nodes: list[Any]) -> None:
        self.nodes = nodes
        self.refused = ""
        self.written: Any = None

    def checked(self) -> Any:
        """What stands for the tree.

        Raises:
            PicklingError: it does not come back.
        """
        if self.refused:
            raise PicklingError(self.refused)
        return self.written


def read_nodes(data: bytes, known: dict[str, Any]) -> list[Any]:
    """The nodes of a tree; none where it is no XML."""
    library = importlib.import_module("lxml.etree")
    parser = library.XMLParser(strip_cdata=False, resolve_entities=False, huge_tree=True, recover=True)
    if known["kind"] != OF_LIBRARY[0]:
        parser.set_element_class_lookup(importlib.import_module(known["kind"]).HtmlElementClassLookup())
    root = library.fromstring(data, parser, base_url=known["where"])
    nodes = [] if root is None else _nodes(root, known["whole"])
    if root is not None and known["tail"] is not None:
        root.tail = known["tail"]
    for place, name in known["empty"]:
        if place < len(nodes):
            setattr(nodes[place], name, "")
    for one, line in zip(nodes, known["lines"], strict=False):
        one.sourceline = line
    return nodes


def find_texts(nodes: list[Any]) -> dict[tuple[int, Any, bool], Any]:
    """What XPath finds in a tree: by the place of its node, the name of an attribute, and whether it is behind it."""
    places = {id(one): at for at, one in enumerate(nodes)}
    root = next(one for one in nodes if isinstance(one.tag, str))
    found: dict[tuple[int, Any, bool], Any] = {}
    for text in root.xpath("descendant::text() | descendant-or-self::*/@*"):
        found.setdefault((places[id(text.getparent())], text.attrname, text.is_tail), text)
    return found


def _nodes(root: Any, whole: bool) -> list[Any]:
    before, behind = _beside(root) if whole else ([], [])
    return [*before, *root.iter(), *behind]


def _beside(root: Any) -> tuple[list[Any], list[Any]]:
    """Comments and instructions of a document before its root, and behind it."""
    return list(root.itersiblings(preceding=True))[::-1], list(root.itersiblings())


def reduce_element(pickler: Any, element: Any) -> Any:
    """An element, or another node of a tree."""
    alone = element.getparent() is None and element.getroottree().getroot() is None
    if alone and type(element).__module__ == OF_LIBRARY[0]:  # a comment or the like by itself
        return make_alone, (element.tag, getattr(element, "target", None), element.text, element.tail)
    tree, place = _place(pickler, element, MOST_NODES)
    hung: Any = getattr(element, "__dict__", None)
    return find_node, (tree.checked(), place), hung or None


def make_alone(make: Any, target: Any, text: Any, tail: Any) -> Any:
    """A comment or an instruction that is in no tree."""
    alone = make(text) if target is None else make(target, text)
    if tail is not None:
        alone.tail = tail
    return alone


def find_node(nodes: list[Any], place: int) -> Any:
    """The node of a tree that is at that place."""
    return nodes[place]


def reduce_tree(_pickler: Any, tree: Any) -> Any:
    """A tree by its root."""
    return find_tree, (type(tree), tree.getroot())


def find_tree(kind: Any, root: Any) -> Any:
    """The tree of a root."""
    if root is None:
        return importlib.import_module("lxml.etree").ElementTree()
    tree = root.getroottree()
    return tree if tree.getroot() is root else importlib.import_module("lxml.etree").ElementTree(root)


def reduce_attributes(_pickler: Any, attributes: Any) -> Any:
    """The attributes of an element, which change it."""
    of_element = sys.modules["lxml.etree"]._Element
    owner = next((one for one in gc.get_referents(attributes) if isinstance(one, of_element)), None)
    return NotImplemented if owner is None else (getattr, (owner, "attrib"))


def reduce_text(pickler: Any, text: Any) -> Any:
    """A text that XPath has found, which knows its element; where that has another text by now, it is a text alone."""
    owner = text.getparent()
    if owner is None:
        return NotImplemented
    now = owner.get(text.attrname) if text.attrname else owner.tail if text.is_tail else owner.text
    why = "its element has another text by now"
    if now == text:
        try:
            tree, place = _place(pickler, owner, MOST_FOR_TEXTS)
            return find_text, (tree.checked().texts, (place, text.attrname, text.is_tail), str(text))
        except PicklingError as error:
            why = str(error)
    pickler.reducers.name("lxml's getparent", "method of texts", f"a text does not know its element any more: {why}")
    return NotImplemented


def find_text(texts: dict[Any, Any], place: Any, text: str) -> Any:
    """A text in a tree; one that was written otherwise there is a text alone."""
    found = texts.get(place)
    return found if found == text else text


def _place(pickler: Any, element: Any, most: int) -> tuple[Tree, int]:
    """What is known of the tree of a node, and where the node is in it.

    Raises:
        PicklingError: the tree is too large, or has elements of other libraries.
    """
    trees: dict[int, tuple[Any, Tree, int]] = pickler.reducers.trees
    met = trees.get(id(element))
    if met is None:
        top = element
        while (parent := top.getparent()) is not None:
            top = parent
        root = element.getroottree().getroot()
        whole = root is not None and (top is root or any(one is top for one in itertools.chain(*_beside(root))))
        root = root if whole else top
        if not {type(element).__module__, type(root).__module__}.issubset(OF_LIBRARY):
            raise PicklingError("a tree of lxml with elements of a class of its own")
        counted = pickler.reducers.tree_sizes.get(id(root))
        if counted is None or counted[1] == MOST_FOR_TEXTS < most:  # of a larger one it is known that it is one
            counted = root, sum(1 for _ in itertools.islice(root.iter(), most))
            pickler.reducers.tree_sizes[id(root)] = counted
        if counted[1] >= most:
            raise PicklingError(f"a tree of lxml with {most:,} nodes or more")
        tree = Tree(_nodes(root, whole))
        trees |= {id(one): (one, tree, at) for at, one in enumerate(tree.nodes)}
        try:
            tree.written = _written(root, whole, tree.nodes)
        except PicklingError as error:
            tree.refused = str(error)
        met = trees[id(element)]
    return met[1], met[2]


def _written(root: Any, whole: bool, nodes: list[Any]) -> Nodes:
    """What stands for a tree.

    Raises:
        PicklingError: it would come back as another one.
    """
    kinds = list(map(type, nodes))
    modules = {kind.__module__ for kind in kinds}
    if not modules.issubset(OF_LIBRARY):
        raise PicklingError("a tree of lxml with elements of a class of its own")
    about = root.getroottree().docinfo
    data = _as_bytes(root, whole, about)
    known = {
        "kind": OF_LIBRARY[1] if OF_LIBRARY[1] in modules else OF_LIBRARY[0],
        "where": about.URL,
        "tail": root.tail,
        "whole": whole,
        "empty": [(at, name) for at, one in enumerate(nodes) for name in ("text", "tail") if getattr(one, name) == ""],
        "lines": (),
    }
    again = read_nodes(data, known)
    same = list(map(type, again)) == kinds
    if about.xml_version is None:  # HTML has no namespaces, and its names may be other ones in XML
        same = same and _names(again) == _names(nodes)
    if not same or _as_bytes(again[nodes.index(root)], whole, about) != data:
        raise PicklingError("a tree of lxml that is no XML, or another one when it is read again")
    lines = [one.sourceline or 0 for one in nodes]
    if lines != [one.sourceline or 0 for one in again]:
        known["lines"] = lines
    return Nodes(data, known)


def _names(nodes: list[Any]) -> list[Any]:
    """What the nodes of a tree are called, and their attributes."""
    return [(one.tag, one.items()) for one in nodes]


def _as_bytes(root: Any, whole: bool, about: Any) -> bytes:
    """A tree as XML, in the encoding that it was read in."""
    encoding = about.encoding or "UTF-8"
    options = {"standalone": about.standalone} if whole else {"with_tail": False}
    declared = about.standalone is not None or encoding.upper() != "UTF-8"
    tree = root.getroottree() if whole else root
    written: bytes = sys.modules["lxml.etree"].tostring(tree, encoding=encoding, xml_declaration=declared, **options)
    return written
