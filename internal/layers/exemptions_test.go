// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A list of packages or files that names one that is gone makes a rule weaker than it reads.
func TestListedPackagesAndFilesExist(t *testing.T) {
	lists := append(slices.Clone(order), tools, raw, engines, mechanisms, mayImportMechanisms)
	lists = append(lists, pinnedPackages, public, texts, pure, testCode, targetPrograms,
		slices.Collect(maps.Keys(mayWait)))
	for name := range own {
		lists = append(lists, []string{name})
	}
	for _, list := range lists {
		for _, name := range list {
			if _, err := os.Stat(filepath.Join("..", "..", name)); err != nil {
				t.Errorf("a rule names %s: %v", name, err)
			}
		}
	}
}

// used fails for each of a list's entries that no source needs.
func used(t *testing.T, list []string, needed map[string]bool, what string) {
	t.Helper()
	for _, entry := range list {
		if !needed[entry] {
			t.Errorf("%s: nothing needs %q", what, entry)
		}
	}
}

var (
	exemptPath     = regexp.MustCompile(`"!\*\*/(.*)/\*\.go"`)
	exemptFunction = regexp.MustCompile(`- \(\*prywalk/(.*)\.(\w+)\)\.(\w+)`)
	exemptWord     = regexp.MustCompile(`(?s)ignore-rules:\n(.*?)\n    \w`)
	firstWord      = regexp.MustCompile(`(?m)^ *- (\w+)`)
)

func TestExemptionsOfTheLintersMatch(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range exemptPath.FindAllStringSubmatch(string(text), -1) {
		found++
		unsafe := func(s source) bool {
			return (s.pkg == m[1] || path.Base(s.pkg) == m[1]) && slices.Contains(s.imports(), "unsafe")
		}
		if !slices.ContainsFunc(sources(t), unsafe) {
			t.Errorf("no package %s imports unsafe", m[1])
		}
	}
	members := treeOf(t).members
	for _, m := range exemptFunction.FindAllStringSubmatch(string(text), -1) {
		found++
		if !has(members[m[1]], m[2]+"."+m[3]) {
			t.Errorf("%s has no %s.%s", m[1], m[2], m[3])
		}
	}
	for _, block := range exemptWord.FindAllStringSubmatch(string(text), -1) {
		for _, m := range firstWord.FindAllStringSubmatch(block[1], -1) {
			found++
			if !slices.ContainsFunc(treeOf(t).files, func(f goFile) bool { return mentions(t, f.path, m[1]) }) {
				t.Errorf("no Go file has the word %s", m[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("%d exemptions were found", found)
	}
}

func mentions(t *testing.T, file, word string) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), word)
}
