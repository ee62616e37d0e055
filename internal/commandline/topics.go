// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"io"
	"regexp"

	"prywalk/docs"
	"prywalk/internal/exit"

	"github.com/spf13/cobra"
)

// topics are the words that help takes besides the commands, with their pages.
var topics = []struct{ name, page, text string }{
	{"rights", "rights.md", "what the kernel must allow, and the remedy where it does not"},
	{"limits", "limits.md", "what prywalk cannot see or do"},
	{"formats", "recording-file.md", "the recording, --stats and other files"},
}

var (
	// link is a link of a page; its text is what a terminal shows.
	link = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)
	bold = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// showTopic prints the page of a topic. It reports whether there is one of that name.
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
		_, err = io.WriteString(cmd.OutOrStdout(), text)
		return true, err
	}
	return false, nil
}

// topicRows gives each topic with what it is about.
func topicRows() (rows [][2]string) {
	for _, t := range topics {
		rows = append(rows, [2]string{t.name, t.text})
	}
	return rows
}
