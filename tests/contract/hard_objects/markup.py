"""Sessions with trees of XML and HTML, and with elements and texts of them."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "trees of lxml, of XML and of HTML, and elements that variables hold": session(
        """
        import io
        from lxml import etree, html
        DATA = b"<?xml version='1.0' encoding='ISO-8859-1'?><!-- before --><!DOCTYPE shop [<!ENTITY e 'x'>]><shop xmlns:n='urn:n'><item id='1'>a\\xe4<![CDATA[<x>]]></item>tail<!-- within --><n:c z='1'/>&e;<?go on?></shop><!-- behind -->"
        root = etree.fromstring(DATA)
        tree = root.getroottree()
        raw = etree.fromstring(DATA, etree.XMLParser(strip_cdata=False, resolve_entities=False))
        items = root.findall("item"); first = items[0]; comment = root[1]; before = root.getprevious()
        by_id = {one.get("id"): one for one in items}
        gone = root[2]; root.remove(gone)
        made = etree.Element("a", b="c"); sub = etree.SubElement(made, "{urn:k}k"); sub.text = "1 < 2 \\r\\n"; sub.tail = "t"; made.tail = "end"
        alone = etree.Comment("alone"); part = etree.ElementTree(first); empty = etree.ElementTree()
        page = html.fromstring("<p class=x>a<br>b<script>1<2 && 3</script><a href='k?a=1&b=2' checked>l</a> &nbsp;z</p>")
        link = page.find(".//a"); document = html.document_fromstring("<title>t</title><form action=/x><input name=q value=1><select name=s><option>a<option selected>b</select></form>")
        form = document.forms[0]; fragments = html.fragments_fromstring("<b>1</b><i>2</i>")
        parsed = etree.parse(io.BytesIO(b"<r><k/></r>"), base_url="http://e.org/r.xml"); count = etree.Element("count"); count.text = "5"
        link.seen = 3; about_first = first.attrib; about_link = link.attrib
        texts = root.xpath("//text()|//@*"); moved = page.xpath(".//a/text()")[0]; whole = root.xpath("string(.)")
        """,
        """
        etree.tostring(tree), etree.tostring(raw.getroottree()), tree.docinfo.encoding, tree.docinfo.doctype, root.sourceline
        tree.getroot() is root, root.find("item") is first, by_id["1"] is first, first.getparent() is root, root[1] is comment, root.getprevious() is before, before.text
        dict(about_first), dict(about_link), about_first.get("id")
        about_first["k"] = "v" ;; first.get("k")
        first.set("id", "2"); first.text = "new" ;; root.find("item").get("id"), etree.tostring(root[0])
        gone.tag, gone.get("z"), gone.getparent(), gone.nsmap, root.nsmap
        made.attrib, sub.text, sub.tail, made.tail, made[0] is sub, sub.prefix, sub.getparent() is made, made.getroottree().docinfo.encoding
        alone.text, alone.getparent(), part.getroot() is first, part.getpath(first), tree.getpath(first), empty.getroot()
        root.append(gone) ;; etree.tostring(root)
        html.tostring(page), page.find(".//a") is link, link.get("href"), page.cssselect if False else page.classes.add("y") or page.get("class"), link.seen
        page.text_content(), link.make_links_absolute("http://h/") or link.get("href"), etree.tostring(page.getroottree())[:30]
        form.fields["q"], form.form_values(), type(form).__name__, document.find(".//title").text, document.body.find("form") is form
        [one.tag for one in fragments], fragments[0].getnext(), fragments[1].getparent() is fragments[0].getparent()
        parsed.docinfo.URL, parsed.getroot()[0].tag, etree.tostring(count), [type(one).__name__ for one in raw.iter()]
        [(str(one), one.getparent().tag, one.attrname, one.is_text, one.is_tail) for one in texts], texts[1].getparent() is root[0], moved.getparent() is link
        whole, whole.getparent()
        root.xpath("//item/@id"), root.xpath("count(//*)"), raw.xpath("//n:c", namespaces={"n": "urn:n"})[0].get("z")
        """,
    ),
    "trees that cannot come back": session(
        """
        from lxml import etree, html
        class Own(etree.ElementBase): pass
        lookup = etree.ElementDefaultClassLookup(element=Own)
        parser = etree.XMLParser(); parser.set_element_class_lookup(lookup)
        own = etree.fromstring("<a>t<b/></a>", parser); of_own = own.xpath("text()")[0]; inner = {"b": own[0]}
        odd = etree.Element("a"); odd.text = ""; odd.append(etree.Element("b")); odd[0].tail = ""
        turn = etree.ProcessingInstruction("go", "on")
        made = etree.fromstring("<a><b>old</b></a>"); stale = made.xpath("*/text()")[0]; made[0].text = "new"
        vector = html.fromstring("<html><body><svg xmlns='http://www.w3.org/2000/svg'><path d='M0'/></svg><p xml:lang='en'>q</p></body></html>")
        bad = html.fromstring("<p>a&#1;<a href='x'>l</a></p>"); links = bad.xpath("//a/@href")
        made_by = []
        class Counted(etree.ElementBase):
            def _init(self): made_by.append(self.tag)
        counting = etree.XMLParser(); counting.set_element_class_lookup(etree.ElementDefaultClassLookup(element=Counted))
        counted = etree.fromstring("<a><b/><c/></a>", counting); comment = html.HtmlComment("x")
        fine = etree.Element("b")
        n = [1, fine]
        """,
        """
        n[1] is fine, fine.tag
        "own", own.tag
        "vector", vector.xpath("//svg"), "bad", bad.text, "comment", comment.text
        "getparent", [str(one) for one in links]
        "counted", made_by
        "getparent", of_own, of_own.getparent()
        odd.text, odd[0].tail, odd[0].text, etree.tostring(odd)
        "getparent", stale, stale.getparent().tag, made[0].text
        turn.target, turn.text, turn.tag is etree.PI
        """,
        named="own inner lookup parser getparent vector bad counting counted comment",
    ),
}
