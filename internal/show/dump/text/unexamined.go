// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strconv"
	"strings"

	"prywalk/internal/show/dump/stacks"
)

// Unexamined returns why a process may hang without a thread that shows it, and the next command: "unknown: promises
// are not examined; 5 client connections are open and nothing runs; node inspect …". "": no sign of it.
func Unexamined(p *stacks.Process) string {
	if !p.NothingRuns() {
		return ""
	}
	for _, l := range p.Unexamined() {
		if p.Clients > 0 || !l.UnthreadedPossible {
			return "unknown: " + l.Unthreaded + " are not examined; " + stillText(p) + "; " +
				strings.ReplaceAll(l.UnthreadedNext, "PID", strconv.Itoa(p.PID))
		}
	}
	return ""
}

func stillText(p *stacks.Process) string {
	if p.Clients == 0 {
		return "nothing runs"
	}
	return count(p.Clients, "client connection") + " " + pluralForm(p.Clients, "is", "are") + " open and nothing runs"
}
