// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/pprof/profile"

	"prywalk/internal/code/sourcelines"
	rec "prywalk/internal/store/profile"
)

// A thread is in line 7 of work for two seconds, in line 9 for one, and for four in line 7 of work, which a function
// calls that line 9 calls. The file of main is not there, and the one of call is too large.
func linesFixture(t *testing.T) *profile.Profile {
	start := time.Unix(1_700_000_000, 0)
	b := rec.NewBuilder(rec.Meta{Start: start, Period: 1e7, Main: app})
	end := start.UnixNano()
	for _, s := range []struct {
		seconds int64
		stack   []uint64
	}{{2, []uint64{0x107, 0x100}}, {1, []uint64{0x109, 0x100}}, {4, []uint64{0x107, 0x110, 0x109, 0x100}}} {
		end += s.seconds * 1e9
		b.Add(rec.Interval{Stack: b.Intern(at(app, s.stack...)), PID: 7, TID: 7, Comm: "kvd", State: "running", End: end,
			Samples: 100 * s.seconds, Wall: s.seconds * 1e9, CPU: s.seconds * 1e9})
	}
	b.SetWindow(start, time.Unix(0, end))
	line := func(name, file string, n int) []rec.Frame {
		return []rec.Frame{{Name: name, File: file, StartLine: 5, Line: n}}
	}
	return parsed(t, b, nameTable{app.Path: {0x100: line("main", "/build/gone/main.c", 8),
		0x107: line("work", "/build/src/work.c", 7), 0x109: line("work", "/build/src/work.c", 9),
		0x110: line("call", "/build/src/large.c", 3)}})
}

func sourceDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var text strings.Builder
	for n := range 400 {
		fmt.Fprintf(&text, "\tline %d </script>\x1b%s\r\n", n+1, strings.Repeat("x", n))
	}
	if err := os.WriteFile(filepath.Join(dir, "work.c"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large.c")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 1<<30); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestThePageHasTheLinesOfAFunctionInABrowser(t *testing.T) {
	p, dir := linesFixture(t), sourceDir(t)
	ctx := openPage(t, func(b *bytes.Buffer) error { return HTML(b, p, Options{SourceDir: dir}) })
	if s := show(ctx, t, "view=functions"); len(s.Rows) != 3 || s.Rows["work"] != [2]string{"7000000000", "7000000000"} {
		t.Errorf("functions: %v", s.Rows)
	}
	type sums struct{ Self, Total int64 }
	const second = time.Second
	for _, part := range [][2]time.Duration{{0, 7 * second}, {second, 4 * second}, {2 * second, 3 * second}} {
		show(ctx, t, fmt.Sprintf("from=%s&to=%s&view=flame&function=work", part[0], part[1]))
		got := value[map[string]sums](ctx, t, `Object.fromEntries([...lineSums(choice.focus)].map(
			([line, s]) => [line, {Self: s.self, Total: s.total}]))`)
		d, err := prepare(p, Options{From: part[0], To: part[1]})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]sums{}
		for n, l := range sourcelines.Functions(d.Profile, regexp.MustCompile("^work$"), d.ValueIndex)[0].ByLine {
			want[fmt.Sprint(n)] = sums{l.Self, l.Total}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || len(got) == 0 {
			t.Errorf("%v: the page has %v, the report %v", part, got, want)
		}
	}
	show(ctx, t, "view=flame&function=work")
	wants(t, "the lines", text(ctx, t, "#source"), `Lines in /build/src/work.c self % total % line source `+
		`4 line 4 </script>\x1bxxx 5 line 5 </script>\x1bxxxx 6 line 6 </script>\x1bxxxxx 86% 86% 7 line 7 `)
	wants(t, "the lines", text(ctx, t, "#source"), "14% 71% 9 line 9")
	show(ctx, t, "view=flame&function=main")
	wants(t, "a file elsewhere", text(ctx, t, "#source"), "No source text: the file is not below the directory")
	wants(t, "its lines", text(ctx, t, "#source"), "100% 8")
	show(ctx, t, "view=flame&function=call")
	wants(t, "a large file", text(ctx, t, "#source"), "large.c: the file is too large")
	pdf, err := chromedp.Run(ctx, chromedp.PrintToPDF())
	if err != nil || !bytes.HasPrefix(pdf, []byte("%PDF")) {
		t.Errorf("%v: %.20q", err, pdf)
	}
}

func TestThePageHasNoSourceUnlessADirectoryIsGiven(t *testing.T) {
	page := render(t, HTML, linesFixture(t), Options{})
	if d := pageData(t, page); d.Lines != nil || d.Sources != nil {
		t.Errorf("lines %v, sources %v", d.Lines, d.Sources)
	}
}

func TestTheTextInThePageIsBounded(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	b := rec.NewBuilder(rec.Meta{Start: start, Period: 1e7, Main: app})
	names := nameTable{app.Path: {}}
	for n := range maxSourceFunctions + 10 { // of which the first has 390 lines
		name := fmt.Sprintf("f%d", n)
		for i := range max(1, 390*(1-n)) {
			offset := uint64(1000*n + i)
			names[app.Path][offset] = []rec.Frame{{Name: name, File: "work.c", StartLine: 1, Line: 1 + i}}
			b.Add(rec.Interval{Stack: b.Intern(at(app, offset)), PID: 7, TID: 7, Comm: "kvd", State: "running",
				End: start.UnixNano() + 1e9, Samples: 1, Wall: 1e7, CPU: 1e7})
		}
	}
	b.SetWindow(start, start.Add(time.Second))
	d := pageData(t, render(t, HTML, parsed(t, b, names), Options{SourceDir: sourceDir(t)}))
	if len(d.Sources) != maxSourceFunctions || len(d.Sources[0].Lines) != 2*maxSourceLines {
		t.Fatalf("%d functions, %d lines of the first", len(d.Sources), len(d.Sources[0].Lines)/2)
	}
	for _, s := range d.Sources {
		for i := 1; i < len(s.Lines); i += 2 {
			if line := d.Strings[s.Lines[i]]; len(line) > maxSourceWidth+2 { // with …
				t.Errorf("line %d has %d bytes", s.Lines[i-1], len(line))
			}
		}
	}
	if f := d.Strings[d.Frames[5*d.Sources[0].Frame]]; f != "f0" {
		t.Errorf("the first is %s", f)
	}
}
