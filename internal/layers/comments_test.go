package layers

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	// mostWords is how many words a sentence of a comment has at most: one idea each.
	mostWords = 30
	// mostColumns is how long a line of code or of a comment is at most; tabs count as one.
	mostColumns = 120
	// longSentences and wideLines are how many of both there may be. Never raise them.
	longSentences = 0
	wideLines     = 0
)

// eachGoFile gives all Go files of the module, tests and those of every architecture included.
func eachGoFile(t *testing.T, f func(path string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || isModule(path)) {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") {
			f(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSentencesOfCommentsAreShort(t *testing.T) {
	var long []string
	eachGoFile(t, func(path string) {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if ast.IsGenerated(file) {
			return
		}
		for _, c := range file.Comments {
			for _, s := range sentences(c.Text()) {
				if n := words(s); n > mostWords {
					long = append(long, fmt.Sprintf("%s: a sentence of %d words: %s", set.Position(c.Pos()), n, s))
				}
			}
		}
	})
	tell(t, long, longSentences, fmt.Sprintf("sentences of more than %d words", mostWords))
}

var (
	// item begins a point of a list, which is not one sentence with the next.
	item = regexp.MustCompile(`^\s*(?:[-*•]|\d+\.)\s`)
	// ends is where a sentence ends: "e.g. this" and "1.5" are no ends.
	ends = regexp.MustCompile(`[.?!]\)?(?:\s+|$)`)
	word = regexp.MustCompile(`\pL`)
)

// sentences splits a comment. Indented lines are code or tables, and no sentences.
func sentences(text string) (all []string) {
	var paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			all = append(all, ends.Split(strings.Join(paragraph, " "), -1)...)
		}
		paragraph = nil
	}
	list := false
	for _, line := range strings.Split(text, "\n") {
		switch {
		case item.MatchString(line):
			end()
			list = true
			paragraph = append(paragraph, strings.TrimSpace(item.ReplaceAllString(line, "")))
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			end()
			list = false
		case strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    ") && !list:
			end()
		default:
			paragraph = append(paragraph, strings.TrimSpace(line))
		}
	}
	end()
	return all
}

// words counts what has a letter.
func words(s string) (n int) {
	for _, f := range strings.Fields(s) {
		if word.MatchString(f) {
			n++
		}
	}
	return n
}

func TestSentencesAreToldApart(t *testing.T) {
	for text, want := range map[string]int{
		"One. Two, as 1.5 is.\nThree?":                3,
		"A list:\n  - first\n    goes on\n  - second": 3,
		"Code:\n\tx := 1\nmore.":                      2,
	} {
		got := 0
		for _, s := range sentences(text) {
			if words(s) > 0 {
				got++
			}
		}
		if got != want {
			t.Errorf("%q: %d sentences, not %d: %q", text, got, want, sentences(text))
		}
	}
}

// tell fails the test if there are more places than allowed, and names all of them.
func tell(t *testing.T, places []string, most int, what string) {
	t.Helper()
	t.Logf("%d %s, %d are allowed", len(places), what, most)
	if len(places) > most {
		t.Errorf("%d %s, more than %d:\n%s", len(places), what, most, strings.Join(places, "\n"))
	}
}

func TestLinesAreShort(t *testing.T) {
	var wide []string
	eachGoFile(t, func(path string) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for n := 1; lines.Scan(); n++ {
			line := lines.Text()
			if strings.Contains(line, "Code generated") {
				return
			}
			if c := utf8.RuneCountInString(line); c > mostColumns {
				wide = append(wide, fmt.Sprintf("%s:%d: %d columns", path, n, c))
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	})
	tell(t, wide, wideLines, fmt.Sprintf("lines of more than %d columns", mostColumns))
}
