// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"io"
	"regexp"
	"strings"

	"prywalk/docs"
	"prywalk/internal/console"
	"prywalk/internal/exit"

	"github.com/spf13/cobra"
)

var helpTopics = []struct{ name, page, text string }{
	{"rights", "rights.md", "what the kernel must allow, and the remedy where it does not"},
	{"names", "names.md", "incomplete stacks, missing names, entries in brackets"},
	{"waiting", "waiting.md", "locks, owners, deadlock unknown, [idle: RULE]"},
	{"noticed", "noticed.md", "what the target can notice, and how to limit it"},
	{"errors", "errors.md", "notes, exit codes, events during a run"},
	{"limits", "limits.md", "what prywalk cannot see or do"},
	{"formats", "recording.md", "the recording, --stats and other files"},
}

var (
	link = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)
	bold = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	// section is a link to a heading of the page: the heading is shown.
	section = regexp.MustCompile(`\[below\]\(#([^)]+)\)`)
	// tests are names of tests, of no use in help.
	tests = regexp.MustCompile("\\s*\\((?:`Test\\w+`[,\\s]*)+\\)|`Test\\w+`[,;]?\\s*(?:\\(`\\w+`\\))?")
)

func showTopic(cmd *cobra.Command, name string) (bool, error) {
	for _, t := range helpTopics {
		if t.name != name {
			continue
		}
		page, err := docs.Topics.ReadFile(t.page)
		if err != nil {
			return true, exit.With(exit.Failed, "the help page on %s is not in this build: %w", name, err)
		}
		write := func(w io.Writer) error {
			_, err := io.WriteString(w, pageText(withoutMarks(string(page)), helpWidth()))
			return err
		}
		if cmd.OutOrStdout() == &console.Stdout {
			return true, console.Paged(false, write)
		}
		return true, write(cmd.OutOrStdout())
	}
	return false, nil
}

func withoutMarks(page string) string {
	page = section.ReplaceAllStringFunc(page, func(l string) string {
		return "below (" + strings.ReplaceAll(section.FindStringSubmatch(l)[1], "-", " ") + ")"
	})
	page = link.ReplaceAllString(tests.ReplaceAllString(page, ""), "$1")
	return bold.ReplaceAllString(page, "$1")
}

func topicRows() (rows [][2]string) {
	for _, t := range helpTopics {
		rows = append(rows, [2]string{t.name, t.text})
	}
	return rows
}
