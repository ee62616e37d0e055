// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// The texts are those of internal/testtargets: "needs WHAT: REMEDY" and "left to make test-all: REASON".
const (
	leftOut = "left to make test-all"
	setUp   = "make setup-all"
)

type skip struct {
	text, remedy string
	tests        []name
}

// logged is a line that a test has logged, with its place.
var logged = regexp.MustCompile(`(?m)^\s*[\w.-]+\.go:\d+: (.*)$`)

// reason is the last line that a skipped test logged.
func reason(output string) string {
	all := logged.FindAllStringSubmatch(output, -1)
	if len(all) == 0 {
		return "without a reason"
	}
	return all[len(all)-1][1]
}

// skips are sorted by remedy, those without one last.
func (r *run) skips() (needs []*skip, left []name) {
	byText := map[string]*skip{}
	for _, o := range sorted(r.tests) {
		if o.result != "skip" {
			continue
		}
		text := reason(o.output.String())
		if strings.HasPrefix(text, leftOut) {
			left = append(left, o.name)
			continue
		}
		if byText[text] == nil {
			s := &skip{text: text}
			if what, remedy, found := strings.Cut(text, ": "); found && strings.HasPrefix(what, "needs ") {
				s.remedy = remedy
			}
			byText[text] = s
			needs = append(needs, s)
		}
		byText[text].tests = append(byText[text].tests, o.name)
	}
	slices.SortFunc(needs, func(a, b *skip) int {
		if (a.remedy == "") != (b.remedy == "") {
			return strings.Compare(b.remedy, a.remedy)
		}
		return cmp.Or(strings.Compare(a.remedy, b.remedy), strings.Compare(a.text, b.text))
	})
	return needs, left
}

func tests(n int) string {
	if n == 1 {
		return "1 test"
	}
	return fmt.Sprintf("%d tests", n)
}

func (s *skip) print(w io.Writer, names bool) {
	fmt.Fprintf(w, "  %s (%s)\n", s.text, tests(len(s.tests)))
	for _, n := range s.tests {
		if names {
			fmt.Fprintf(w, "      %s %s\n", n.pkg, n.test)
		}
	}
}
