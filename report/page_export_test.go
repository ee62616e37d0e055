// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	downloads "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// saved returns the file that an action saves.
func saved(ctx context.Context, t *testing.T, action chromedp.Action[chromedp.Void]) string {
	t.Helper()
	dir, events := t.TempDir(), true
	progress := chromedp.Events(ctx, downloads.DownloadProgress)
	run(ctx, t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := chromedp.Call(ctx, downloads.SetDownloadBehavior, downloads.SetDownloadBehaviorParams{
			Behavior:     downloads.SetDownloadBehaviorBehaviorAllowAndName,
			DownloadPath: dir, EventsEnabled: &events,
		})
		return err
	}), action)
	for e, err := range progress {
		if err != nil {
			t.Fatal(err)
		}
		if e.State == downloads.DownloadProgressStateCompleted {
			b, err := os.ReadFile(filepath.Join(dir, e.GUID))
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
	}
	t.Fatal("nothing was saved")
	return ""
}

// foldedSums are the values by stack, in folded lines after so many fields.
func foldedSums(t *testing.T, lines string, skip int) map[string]int64 {
	t.Helper()
	sums := map[string]int64{}
	for line := range strings.Lines(lines) {
		at := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseInt(strings.TrimSpace(line[at:]), 10, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		sums[strings.Join(strings.Split(line[:at], ";")[skip:], ";")] += v
	}
	return sums
}

func TestThePageSavesFoldedStacksInABrowser(t *testing.T) {
	p := fixture(t)
	ctx := browser(t, p)
	var all bytes.Buffer
	if err := Folded(&all, p, Options{}); err != nil {
		t.Fatal(err)
	}
	// the page names no thread here, of which [exited unseen] has none, and says of a module that it is unnamed
	renamed := strings.NewReplacer("[libblob.so]", "[libblob.so] (unnamed)", "kvd;[exited", "kvd;;[exited").
		Replace(all.String())
	got := foldedSums(t, saved(ctx, t, chromedp.Click(chromedp.CSS("#save-folded"))), 0)
	if want := foldedSums(t, renamed, 2); !maps.Equal(got, want) { // after process and thread
		t.Errorf("the page has %v, report --folded %v", got, want)
	}
	run(ctx, t, chromedp.Evaluate[chromedp.Void](`setSearch("walk|lookup"); byId("search").blur()`))
	found := foldedSums(t, saved(ctx, t, chromedp.KeyEvent("f")), 0)
	sum := int64(0)
	for stack, v := range found {
		sum += v
		if !strings.Contains(stack, "walk") && !strings.Contains(stack, "lookup") || got[stack] != v {
			t.Errorf("%s %d is among what was found", stack, v)
		}
	}
	if want := value[int64](ctx, t, "foundValue()"); sum != want || sum == 0 {
		t.Errorf("the stacks found have %d, the page says %d", sum, want)
	}
	run(ctx, t, chromedp.Evaluate[chromedp.Void](
		`setSearch(""); zoom(graph.tree.frame.findIndex((f) => f >= 0 && model.frames[f].name === "serve"))`))
	if s := saved(ctx, t, chromedp.KeyEvent("f")); s !=
		"__libc_start_main;main;serve;lookup;hash(std::string_view) 300000000\n" {
		t.Errorf("zoomed to serve: %q", s)
	}
	// what the search finds is on the stack, not only below the chosen function
	show(ctx, t, "view=flame&function=walk&search=worker")
	wants(t, "found", text(ctx, t, "#found"), "100% (165 ms)")
	s := show(ctx, t, "view=flame&function=walk&graph=callers")
	if got := value[string](ctx, t, "foldedText()"); s.Totals["cpu"] != "165000000" || got !=
		"walk;walk;walk;worker;clone3 145000000\nwalk;walk;worker;clone3 20000000\n" {
		t.Errorf("the callers of walk: %q", got)
	}
}

func TestThePageSavesAPictureInABrowser(t *testing.T) {
	p := fixture(t)
	ctx := browser(t, p)
	dark(ctx, t)
	run(ctx, t, chromedp.Evaluate[chromedp.Void](`setSearch("visit"); byId("search").blur()`))
	svg := saved(ctx, t, chromedp.KeyEvent("s"))
	texts, rects := map[string]bool{}, 0
	for d, element := xml.NewDecoder(strings.NewReader(svg)), ""; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if element = token.Name.Local; element == "rect" {
				rects++
			}
		case xml.CharData:
			texts[element+" "+string(token)] = true
		}
	}
	for _, want := range []string{"text compress", "title compress: 500 ms, 50%",
		`title evil</script><b onclick="x">&;name: 10 ms, 1.0%`,
		"text kvd (pid 100): cpu · visit: 14% (150 ms) on matching stacks"} {
		if !texts[want] {
			t.Errorf("lacks %q: %v", want, texts)
		}
	}
	if boxes := value[int](ctx, t, "graph.rects.length"); rects != boxes+1 { // the ground
		t.Errorf("%d boxes in the picture, %d on the screen", rects, boxes)
	}
	mark := `fill="#c2188f"` // of the light theme
	if !strings.Contains(svg, mark) || value[bool](ctx, t, "isDark()") != true {
		t.Errorf("what was found is not marked, or the page is light: %s", svg)
	}
	s := show(ctx, t, "view=waits")
	if s.Views[0] != "waits-section" || !value[bool](ctx, t, `byId("save").hidden`) {
		t.Errorf("%v has the graph's buttons", s.Views)
	}
}

func dark(ctx context.Context, t *testing.T) {
	t.Helper()
	run(ctx, t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
		return err
	}))
}

// What the page looks like is noted when it is printed, as the screen has it back afterwards.
func TestThePagePrintsTheSelectionLightAndWholeInABrowser(t *testing.T) {
	ctx := browser(t, timedFixture(t))
	dark(ctx, t)
	run(ctx, t, chromedp.Evaluate[chromedp.Void](`addEventListener("beforeprint", () => {
		const seen = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility()).length;
		window.printed = { background: getComputedStyle(document.body).backgroundColor, width: document.body.offsetWidth,
			buttons: [...document.querySelectorAll("nav button")].filter((b) => b.checkVisibility()).map((b) => b.textContent),
			boxes: seen("#paper rect"), canvas: seen("#view"), hints: seen(".screen"), waits: seen("#waits [data-name]"),
			tracks: seen(".track"), scrolls: [...document.querySelectorAll(".scroll")].filter((e) =>
				e.checkVisibility() && e.scrollHeight > e.clientHeight + 1).length };
	})`))
	type printed struct {
		Background                                          string
		Width, Boxes, Canvas, Hints, Waits, Tracks, Scrolls int
		Buttons                                             []string
	}
	for _, c := range []struct {
		view, buttons string
		want          printed
	}{
		{"flame", "flame graph cpu callees all", printed{Boxes: 12}},
		{"functions", "functions cpu all", printed{}},
		{"waits", "waits cpu all", printed{Waits: 4}},
		{"tracks", "threads over time cpu all", printed{Tracks: 5}},
	} {
		show(ctx, t, "from=3s&to=8s&view="+c.view)
		pdf, err := chromedp.Run(ctx, chromedp.PrintToPDF())
		if err != nil || !bytes.HasPrefix(pdf, []byte("%PDF")) {
			t.Fatalf("%v: %.20q", err, pdf)
		}
		got := value[printed](ctx, t, "printed")
		if b := strings.Join(got.Buttons, " "); b != c.buttons {
			t.Errorf("%s: the buttons are %q", c.view, b)
		}
		if got.Background != "rgb(255, 255, 255)" || got.Width != 718 || got.Hints+got.Canvas+got.Scrolls != 0 ||
			got.Boxes != c.want.Boxes || got.Waits != c.want.Waits || got.Tracks != c.want.Tracks {
			t.Errorf("%s: %+v", c.view, got)
		}
		if again := value[string](ctx, t, `document.documentElement.className + byId("paper").innerHTML`); again != "" {
			t.Errorf("%s: the screen keeps %q", c.view, again)
		}
	}
}
