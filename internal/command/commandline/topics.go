// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"prywalk/docs"
	"prywalk/internal/base/exit"

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

func showTopic(cmd *cobra.Command, name string) (bool, error) {
	for _, t := range helpTopics {
		if t.name != name {
			continue
		}
		page, err := docs.Topics.ReadFile(t.page)
		if err != nil {
			return true, exit.With(exit.Failed, "the help page on %s is not in this build: %w", name, err)
		}
		_, err = cmd.OutOrStdout().Write(page)
		return true, err
	}
	return false, nil
}

func topicRows() (rows [][2]string) {
	for _, t := range helpTopics {
		rows = append(rows, [2]string{t.name, t.text})
	}
	return rows
}
