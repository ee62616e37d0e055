// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

func docsPages(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil || len(paths) < 10 {
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
