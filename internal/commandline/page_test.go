// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"strings"
	"testing"

	"prywalk/docs"
	"prywalk/internal/tabular"
)

func TestPagesOfHelpFitOnATerminal(t *testing.T) {
	for _, topic := range helpTopics {
		page, err := docs.Topics.ReadFile(topic.page)
		if err != nil {
			t.Fatal(err)
		}
		text := pageText(string(page), 80)
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if n := tabular.Width(line); !strings.HasPrefix(line, codeIndent) && n > 80 && len(strings.Fields(line)) > 1 {
				t.Errorf("%s: %d columns: %s", topic.name, n, line)
			}
		}
		for _, word := range strings.FieldsFunc(string(page), func(r rune) bool { return r == '|' || r <= ' ' }) {
			if strings.Trim(word, "-:") != "" && !strings.HasPrefix(word, "```") && !strings.Contains(text, word) {
				t.Errorf("%s: %q is lost", topic.name, word)
			}
		}
	}
}

func TestARowOfATableIsAHeadingWithItsCells(t *testing.T) {
	const page = "a\nb\n\n| what | one | two |\n| --- | --- | --- |\n| x \\| y | 1 | |\n| z | 3 | 4 4 |\n\n" +
		"- c\n  d\n```\n| e |\n```\n1. f\n   g\n2. h h h\n"
	const want = "a b\n\nwhat / one\n/ two:\n\nx | y\n    one: 1\nz\n    one: 3\n    two: 4\n    4\n\n" +
		"- c d\n      | e |\n1. f g\n2. h h h\n"
	if got := pageText(page, 10); got != want {
		t.Errorf("%q, not %q", got, want)
	}
}
