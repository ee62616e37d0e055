package layers

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// mostPageWords is how many words a page of docs has at most: what is read in about five minutes.
const mostPageWords = 1500

// longPages are pages with more, and how many at most. Lower a figure when its page gets shorter, and never raise one.
var longPages = map[string]int{}

// docsPages gives the text of each page of docs by its name.
func docsPages(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d pages in docs (%v)", len(paths), err)
	}
	pages := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(path)] = string(text)
	}
	return pages
}

// pageWords counts what has a letter or a digit: the bars and rules of tables are no words.
func pageWords(text string) (n int) {
	for _, f := range strings.Fields(text) {
		if strings.ContainsFunc(f, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}

func TestPagesAreReadInFiveMinutes(t *testing.T) {
	pages := docsPages(t)
	for name, text := range pages {
		if n, most := pageWords(text), max(mostPageWords, longPages[name]); n > most {
			t.Errorf("docs/%s has %d words, more than %d: divide it by question, or move tables to benchmarks/results",
				name, n, most)
		}
	}
}

// pageLink is a link to a page beside this one.
var pageLink = regexp.MustCompile(`\]\(([a-z-]+\.md)`)

func TestTheIndexHasEveryPage(t *testing.T) {
	pages, listed := docsPages(t), map[string]bool{"README.md": true}
	for _, m := range pageLink.FindAllStringSubmatch(pages["README.md"], -1) {
		listed[m[1]] = true
	}
	for name := range pages {
		if !listed[name] {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}
