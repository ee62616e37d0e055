// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/observe"
	"prywalk/internal/process"
	"prywalk/ptrace"
)

// With update the test writes the code's values into the page.
var update = flag.Bool("update", false, "write the made parts of docs/system-calls.md and benchmarks/results")

// listed is the entry of a system call in docs/system-calls.md, or in docs/unaffected-calls.tsv.
type listed struct {
	affected bool // in the page's table of calls that an interrupt can affect
	fuse     bool // not in that table, but a FUSE server may give EINTR
	asleep   string
	again    string
}

var (
	// callName is how a call is listed.
	callName = regexp.MustCompile("`([a-z0-9_]+)`")
	// affectedHeading is the heading of the page's table, by its first cells.
	affectedHeading = "| calls | asleep |"
)

// listedCalls reads the page's table and the list of unaffected calls, and returns their calls and those listed twice.
func listedCalls(page, unaffected string) (calls map[string]listed, twice []string) {
	calls = map[string]listed{}
	add := func(name string, l listed) {
		if _, ok := calls[name]; ok {
			twice = append(twice, name)
		}
		calls[name] = l
	}
	inTable := false
	for line := range strings.Lines(page) {
		inTable = strings.HasPrefix(line, affectedHeading) || inTable && strings.HasPrefix(line, "|")
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !inTable || len(cells) < 4 {
			continue
		}
		l := listed{affected: true, asleep: strings.TrimSpace(cells[1]), again: strings.TrimSpace(cells[3])}
		for _, m := range callName.FindAllStringSubmatch(cells[0], -1) {
			add(m[1], l)
		}
	}
	_, rows, _ := strings.Cut(unaffected, "\n")
	for line := range strings.Lines(rows) {
		cells := strings.Split(line, "\t")
		if len(cells) < 3 {
			continue
		}
		for name := range strings.FieldsSeq(cells[1]) {
			add(name, listed{fuse: strings.Contains(cells[0], "FUSE"), asleep: "never", again: "no"})
		}
	}
	return calls, twice
}

// numbers is a bound of the numbers in the kernel's table.
const numbers = 600

// systemCalls returns all system calls of an architecture.
func systemCalls(arch frames.Arch) map[string]int64 {
	all := map[string]int64{}
	for nr := range int64(numbers) {
		if name := process.SyscallName(arch, nr); !strings.HasPrefix(name, "syscall_") {
			all[name] = nr
		}
	}
	return all
}

func TestEverySystemCallIsListedOnce(t *testing.T) {
	page := read(t, "docs/system-calls.md")
	if *update {
		page = generated(page)
		if err := os.WriteFile(filepath.Join("..", "docs", "system-calls.md"), []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	calls, twice := listedCalls(page, read(t, "docs/unaffected-calls.tsv"))
	if len(twice) > 0 {
		t.Errorf("docs/system-calls.md lists calls twice: %v", twice)
	}
	x86, arm := systemCalls(frames.X86_64), systemCalls(frames.AArch64)
	affected, asleep := 0, 0
	for name, nr := range x86 {
		l, ok := calls[name]
		if !ok {
			t.Errorf("docs/system-calls.md lacks %s, number %d", name, nr)
			continue
		}
		checkCall(t, name, nr, l)
		if l.affected {
			affected++
		}
		if l.asleep != "never" {
			asleep++
		}
	}
	for name := range calls {
		if _, ok := x86[name]; !ok {
			t.Errorf("docs/system-calls.md lists %s, which is no system call of x86-64", name)
		}
	}
	for name := range arm {
		if _, ok := x86[name]; !ok && !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/system-calls.md lacks %s of arm64", name)
		}
	}
	for _, want := range []string{
		fmt.Sprintf("Of the %d system calls of x86-64 (arm64: %d),", len(x86), len(arm)),
		fmt.Sprintf("a stop can be noticed in the %d of the first table", affected),
		fmt.Sprintf("is stopped in %d calls only", asleep),
	} {
		if !strings.Contains(strings.Join(strings.Fields(page), " "), want) {
			t.Errorf("docs/system-calls.md lacks: %s", want)
		}
	}
}

// checkCall compares a call's entry in the page with the code.
func checkCall(t *testing.T, name string, nr int64, l listed) {
	t.Helper()
	if when := asleepCell(name); when != l.asleep {
		t.Errorf("%s: the page's cell asleep is %q, want %q", name, l.asleep, when)
	}
	switch again := restartedCell(nr); {
	case l.fuse && again == "yes": // the section states it for all such calls
	case again != l.again:
		t.Errorf("%s: the page's cell restarted is %s, want %s", name, l.again, again)
	}
}

// asleepCell is when a thread that sleeps in a call may be stopped.
func asleepCell(name string) string {
	if when, _ := observe.InterruptRule(name); when != "" {
		return when
	}
	return "never"
}

// generated is the page with the cells of the first table that the code determines, by the first call of each row.
// The test checks that the other calls of a row are alike.
func generated(page string) string {
	x86, lines, inTable := systemCalls(frames.X86_64), strings.Split(page, "\n"), false
	for i, line := range lines {
		inTable = strings.HasPrefix(line, affectedHeading) || inTable && strings.HasPrefix(line, "|")
		cells := strings.Split(line, "|")
		if !inTable || len(cells) < 6 {
			continue
		}
		m := callName.FindStringSubmatch(cells[1])
		if m == nil {
			continue
		}
		cells[2], cells[4] = " "+asleepCell(m[1])+" ", " "+restartedCell(x86[m[1]])+" "
		lines[i] = strings.Join(cells, "|")
	}
	return strings.Join(lines, "\n")
}

// restartedCell is when a call of x86-64 is restarted, in the words of the page.
func restartedCell(nr int64) string {
	const fastOpen = 0x20000000
	switch name := process.SyscallName(frames.X86_64, nr); {
	case name == "ptrace":
		return "`PTRACE_TRACEME`"
	case !ptrace.Restartable(frames.X86_64, nr, 0):
		return resumed(nr)
	case strings.HasPrefix(name, "read") || strings.HasPrefix(name, "write"):
		return "sockets"
	case !ptrace.Restartable(frames.X86_64, nr, fastOpen):
		return "but `MSG_FASTOPEN`"
	}
	return "yes"
}

// resumed is with which arguments a call that gave up its work is restarted.
func resumed(nr int64) string {
	const progLoad, kvmRun, punchHole, create = 5, 0xae80, 2, 0o100
	again := func(eagain bool, args [3]uint64) bool {
		again, _ := ptrace.RestartableAborted(frames.X86_64, nr, args, eagain)
		return again
	}
	switch {
	case again(true, [3]uint64{progLoad}):
		return "`BPF_PROG_LOAD`"
	case again(false, [3]uint64{0, kvmRun}) && !again(false, [3]uint64{}):
		return "`KVM_RUN`"
	case !again(false, [3]uint64{}):
		return "no"
	case !again(false, [3]uint64{0, punchHole}):
		return "`FALLOC_FL_KEEP_SIZE` or no mode"
	case !again(false, [3]uint64{0, create}) || !again(false, [3]uint64{0, 0, create}):
		return "without `O_CREAT`"
	}
	return "yes"
}

// The page lists only the differences of arm64.
func TestArm64RestartsTheSameCallsExceptTwo(t *testing.T) {
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
				t.Errorf("%s, flags %#x: restarted on arm64: %v, want %v, as on x86-64", name, flags, there, here)
			}
		}
	}
}

func TestTablesOfSystemCallsAreParsed(t *testing.T) {
	calls, twice := listedCalls("| calls | asleep | running | restarted |\n| --- | --- | --- | --- |\n"+
		"| `a`, `b` | always | x | no |\n\n| other |\n| `d` | x | y | z |\n", "kind\tcalls\tsource\nk\tb c\ts\n")
	if len(calls) != 3 || len(twice) != 1 || calls["a"] != (listed{true, false, "always", "no"}) || calls["c"].affected {
		t.Errorf("calls are %v, listed twice %v", calls, twice)
	}
}
