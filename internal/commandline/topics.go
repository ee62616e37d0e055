// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"io"
	"os"
	"regexp"

	"prywalk/docs"
	"prywalk/internal/console"
	"prywalk/internal/exit"

	"github.com/spf13/cobra"
)

// topics are the pages that help shows.
var topics = []struct{ name, page, text string }{
	{"rights", "rights.md", "what the kernel must allow, and the remedy where it does not"},
	{"names", "names.md", "incomplete stacks, missing names, entries in brackets"},
	{"limits", "limits.md", "what prywalk cannot see or do"},
	{"formats", "recording.md", "the recording, --stats and other files"},
}

var (
	// link: only its text is shown.
	link = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)
	bold = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// showTopic prints a page. ok: there is one of that name.
func showTopic(cmd *cobra.Command, name string) (bool, error) {
	for _, t := range topics {
		if t.name != name {
			continue
		}
		page, err := docs.Topics.ReadFile(t.page)
		if err != nil {
			return true, exit.With(exit.Failed, "the help page on %s is not in this build: %w", name, err)
		}
		text := bold.ReplaceAllString(link.ReplaceAllString(string(page), "$1"), "$1")
		width := console.Width(os.Stdout)
		if width == 0 {
			width = HelpWidth
		}
		_, err = io.WriteString(cmd.OutOrStdout(), pageText(text, width))
		return true, err
	}
	return false, nil
}

func topicRows() (rows [][2]string) {
	for _, t := range topics {
		rows = append(rows, [2]string{t.name, t.text})
	}
	return rows
}
