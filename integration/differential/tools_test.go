// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"prywalk/internal/show/dump/stacks"
)

type pcsByThread map[int][]uint64

const toolLimit = 5 * time.Minute

// The exit code is ignored: eu-stack's is 1 when one of many stacks ends in an error.
func run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), toolLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(cmd.Environ(), "DEBUGINFOD_URLS=", "LC_ALL=C", "NO_COLOR=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if len(out) == 0 {
		t.Fatalf("%s (scripts/setup-tests.sh installs it) printed nothing: %v\n%s", name, err, stderr.Bytes())
	}
	return out
}

// Inlined calls, and frames without code of their own (Python's), are left out.
func prywalkDump(t *testing.T, pid int) *stacks.Process {
	t.Helper()
	out := run(t, tool, "dump", "--json", "-p", strconv.Itoa(pid), "--max-depth", "0")
	var p stacks.Process
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatalf("prywalk dump --json: %v\n%.500s", err, out)
	}
	for i := range p.Threads {
		th := &p.Threads[i]
		physical := th.Frames[:0]
		for _, f := range th.Frames {
			if !f.Inlined && f.PC != 0 {
				physical = append(physical, f)
			}
		}
		th.Frames = physical
	}
	return &p
}

//go:embed chains.py
var chainsScript string

// gdb's text omits addresses at which a source line begins.
func gdbStacks(t *testing.T, pid int) pcsByThread {
	t.Helper()
	script := "exec(" + strconv.Quote(chainsScript) + ")"
	out := run(t, "gdb", "-nx", "-batch", "-iex", "set auto-load off", "-p", strconv.Itoa(pid), "-ex", "python "+script)
	got := pcsByThread{}
	tid := 0
	for line := range strings.Lines(string(out)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "prywalk-thread":
			tid, _ = strconv.Atoi(rest)
			got[tid] = nil
		case "prywalk-frame":
			pc, err := strconv.ParseUint(rest, 0, 64)
			if err != nil {
				t.Fatalf("line of gdb's output: %q", line)
			}
			got[tid] = append(got[tid], pc)
		}
	}
	return got
}

func euStacks(t *testing.T, pid int) pcsByThread {
	t.Helper()
	got := pcsByThread{}
	tid := 0
	for line := range strings.Lines(string(run(t, "eu-stack", "-n", "0", "-p", strconv.Itoa(pid)))) {
		var n int
		var pc uint64
		if _, err := fmt.Sscanf(line, "TID %d:", &n); err == nil {
			tid = n
			got[tid] = nil
		} else if _, err := fmt.Sscanf(line, "#%d %v", &n, &pc); err == nil {
			got[tid] = append(got[tid], pc)
		}
	}
	return got
}
