package e2e

import (
	"testing"
	"time"

	"redrain/client"
	"redrain/client/openapi"
	"redrain/internal/testenv"
	"redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// TestListsInTheConsole: an operator makes a list, and imports a file after its bad lines were named. They look one
// entry up, remove one, and replace the rest. They name the list in a campaign, and delete it.
func TestListsInTheConsole(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelBrowser(t, testenv.Heavy)
	n := startNode(t, setting{}.config())
	p := browsertest.Open(t, browser.Options{Home: n.url}, browser.Network)
	p.Go("/console#token=" + operatorToken)
	goTo(p, "#/lists")
	p.Says("main", "No lists yet")
	p.State("lists-empty")
	p.PressText("New list…")
	p.Fill(`dialog [name="list"]`, "-no")
	p.PressText("Create")
	p.Says("dialog", "not starting with -")
	p.Fill(`dialog [name="list"]`, "vip")
	p.PressTwice("dialog [type=submit]")
	p.Says("h1", "vip")
	p.Says("#members", "The list is empty")
	importIntoList(t, p, n)

	goTo(p, "#/new")
	p.Until("the list is offered", `[...document.querySelectorAll("datalist option")].some((o) => o.value === "vip")`)
	p.Press(".create summary")
	p.Fill(`.create [name="players"]`, "vip")
	p.Says(".create", "2 players are on it; only they can take part")

	goTo(p, "#/lists/vip")
	p.Fill(`[name="member"]`, "bob")
	p.Says("#members", "bob is not on the list")
	p.PressText("Add")
	p.Says("tbody", "bob")
	p.PressText("Delete…")
	p.PressTwice("dialog [type=submit]")
	p.Says("main", "No lists yet")
	goTo(p, "#/lists/nothing")
	p.Says("main", "No such list.")
}

// importIntoList leaves u3 and u9 on the list that is shown.
func importIntoList(t *testing.T, p *browsertest.Page, n *node) {
	t.Helper()
	p.PressText("Import CSV…")
	p.PressText("Import")
	p.Says("dialog", "Choose a file")
	chooseFile(p, `player\nu1\na\u0007b\nu3\n\u202e\n`)
	p.Says("dialog", "The file has 5 lines. All 0 entries stay")
	p.PressText("Import")
	p.Says("dialog", "Nothing was changed.")
	p.Says("dialog li:nth-child(1)", "Line 3:")
	p.Says("dialog li:nth-child(2)", "Line 5:")
	p.State("lists-bad-lines")
	chooseFile(p, `player\nu1,Ann\nu2,Bob\nu3`)
	p.Says("dialog", "The file has 4 lines.")
	p.PressText("Import")
	p.Says(".toasts", "vip had 0 entries and now has 3.")
	p.Says("tbody", "u1")
	p.Until("three rows", `document.querySelectorAll("tbody tr").length === 3`)
	p.State("lists-members")

	p.Fill(`[name="member"]`, "u2")
	p.Until("one row", `document.querySelectorAll("tbody tr").length === 1`)
	p.PressText("Remove…")
	p.Says("dialog", "removed within a second")
	p.PressTwice("dialog [type=submit]")
	p.Says("#members", "u2 is not on the list")
	p.Fill(`[name="member"]`, "")
	p.Until("two rows", `document.querySelectorAll("tbody tr").length === 2`)

	p.PressText("Import CSV…")
	chooseFile(p, `u3\nu9\n`)
	chooseIn(p, "dialog [name=way]", "replace")
	p.Says("dialog", "of its 2 entries, those not in the file are removed")
	p.PressTwice("dialog [type=submit]")
	p.Says("tbody", "u9")
	on, err := client.Get[openapi.PlayerList](within(t, 20*time.Second), n.client, "lists", "vip")
	if err != nil || on.Members != 2 {
		t.Errorf("%+v, %v", on, err)
	}
	p.Until("u1 was removed from", `!document.querySelector("tbody").innerText.includes("u1")`)
}

// chooseFile gives the dialog a file, whose text is written as in JavaScript.
func chooseFile(p *browsertest.Page, text string) {
	p.T.Helper()
	browsertest.Eval[bool](p, `(() => {
		const chosen = new DataTransfer();
		chosen.items.add(new File(["`+text+`"], "vip.csv", { type: "text/csv" }));
		const input = document.querySelector('dialog [name="file"]');
		input.files = chosen.files;
		return input.dispatchEvent(new Event("change", { bubbles: true }));
	})()`)
}
