// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/look"
	"prywalk/internal/process"
	"prywalk/ptrace"
)

// listed is what docs/system-calls.md and docs/other-system-calls.md say of a system call.
type listed struct {
	nr     int64
	meets  bool // it is in the table of calls that a look can meet
	asleep string
	again  string
}

var (
	// callAndNumber is how a call is listed.
	callAndNumber = regexp.MustCompile("`([a-z0-9_]+)` ([0-9]+)")
	// headings of the tables, by their first cells.
	meetsHeading, otherHeading = "| calls | asleep |", "| kind | calls |"
)

// listedCalls reads the page, and says what is there twice.
func listedCalls(page string) (calls map[string]listed, twice []string) {
	calls = map[string]listed{}
	meets, inTable := false, false
	for line := range strings.Lines(page) {
		switch {
		case strings.HasPrefix(line, meetsHeading):
			meets, inTable = true, true
		case strings.HasPrefix(line, otherHeading):
			meets, inTable = false, true
		case !strings.HasPrefix(line, "|"):
			inTable = false
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !inTable || len(cells) < 3 {
			continue
		}
		l := listed{meets: meets, asleep: "never", again: "no"}
		names := cells[1]
		if meets {
			names, l.asleep, l.again = cells[0], strings.TrimSpace(cells[1]), strings.TrimSpace(cells[3])
		}
		for _, m := range callAndNumber.FindAllStringSubmatch(names, -1) {
			if _, ok := calls[m[1]]; ok {
				twice = append(twice, m[1])
			}
			_, _ = fmt.Sscan(m[2], &l.nr) // they are digits
			calls[m[1]] = l
		}
	}
	return calls, twice
}

// numbers are those of the kernel's table, and some room.
const numbers = 600

// systemCalls gives all system calls of an architecture.
func systemCalls(arch frames.Arch) map[string]int64 {
	all := map[string]int64{}
	for nr := range int64(numbers) {
		if name := process.SyscallName(arch, nr); !strings.HasPrefix(name, "syscall_") {
			all[name] = nr
		}
	}
	return all
}

func TestEverySystemCallIsOnThePageOnce(t *testing.T) {
	page := read(t, "docs/system-calls.md") + read(t, "docs/other-system-calls.md")
	calls, twice := listedCalls(page)
	if len(twice) > 0 {
		t.Errorf("listed twice: %v", twice)
	}
	x86, arm := systemCalls(frames.X86_64), systemCalls(frames.AArch64)
	meets, asleep := 0, 0
	for name, nr := range x86 {
		l, ok := calls[name]
		if !ok || l.nr != nr {
			t.Errorf("%s is number %d; the page has it: %v, as %d", name, nr, ok, l.nr)
			continue
		}
		holdCall(t, name, l)
		if l.meets {
			meets++
		}
		if l.asleep != "never" {
			asleep++
		}
	}
	for name := range calls {
		if _, ok := x86[name]; !ok {
			t.Errorf("the page lists %s, which is no system call", name)
		}
	}
	for name, nr := range arm {
		if _, ok := x86[name]; !ok && !strings.Contains(page, fmt.Sprintf("`%s` %d", name, nr)) {
			t.Errorf("%s of arm64 is not on the page", name)
		}
	}
	for _, want := range []string{
		fmt.Sprintf("Of the %d system calls of x86-64 (arm64: %d),", len(x86), len(arm)),
		fmt.Sprintf("a look can be noticed in the %d of this table", meets),
		fmt.Sprintf("is frozen in %d calls only", asleep),
	} {
		if !strings.Contains(strings.Join(strings.Fields(page), " "), want) {
			t.Errorf("the page does not say: %s", want)
		}
	}
}

// holdCall compares what the page says of a call with the code.
func holdCall(t *testing.T, name string, l listed) {
	t.Helper()
	if when, _ := look.Bearable(name); when != l.asleep && (when != "" || l.asleep != "never") {
		t.Errorf("%s: sleepers are frozen %q, the page says %q", name, when, l.asleep)
	}
	if again := begunAgain(l.nr); again != l.again {
		t.Errorf("%s: begun again: %s, the page says %s", name, again, l.again)
	}
}

// begunAgain is what the code says of a call of x86-64, in the words of the page.
func begunAgain(nr int64) string {
	const fastOpen = 0x20000000
	switch name := process.SyscallName(frames.X86_64, nr); {
	case name == "ptrace":
		return "`PTRACE_TRACEME`"
	case !ptrace.Restartable(frames.X86_64, nr, 0):
		return "no"
	case strings.HasPrefix(name, "read") || strings.HasPrefix(name, "write"):
		return "sockets"
	case !ptrace.Restartable(frames.X86_64, nr, fastOpen):
		return "but `MSG_FASTOPEN`"
	}
	return "yes"
}

// The page says of arm64 only what is different.
func TestArm64BeginsTheSameCallsAgainButForTwo(t *testing.T) {
	x86, arm := systemCalls(frames.X86_64), systemCalls(frames.AArch64)
	for name, nr := range arm {
		const fastOpen = 0x20000000
		for _, flags := range []uint64{0, fastOpen} {
			there := ptrace.Restartable(frames.AArch64, nr, flags)
			here := x86[name] != 0 && ptrace.Restartable(frames.X86_64, x86[name], flags) || name == "read"
			if name == "ppoll" || name == "pselect6" {
				here = false
			}
			if there != here {
				t.Errorf("%s, flags %#x: begun again on arm64: %v, on x86-64: %v", name, flags, there, here)
			}
		}
	}
}

func TestWordsOfThePageOfSystemCalls(t *testing.T) {
	calls, twice := listedCalls("| calls | asleep | met | again |\n| --- | --- | --- | --- |\n" +
		"| `a` 1, `b` 2 | always | x | no |\n\n" +
		"| kind | calls | source |\n| k | `b` 2, `c` 3 | s |\n\n| other |\n| `d` 4 | x | y |\n")
	if len(calls) != 3 || len(twice) != 1 || calls["a"] != (listed{1, true, "always", "no"}) || calls["c"].meets {
		t.Errorf("%v, twice %v", calls, twice)
	}
}
