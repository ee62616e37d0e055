// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/internal/code"
	"prywalk/internal/process"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
)

// add adds a finding. One command gives all capabilities that are asked for.
func (c *checkup) add(f Finding) {
	if strings.Contains(f.Command, "setcap ") {
		c.ask(&f, process.OtherUsers)
	}
	c.out = append(c.out, f)
}

// process does the checks about the target.
func (c *checkup) process() {
	s, err := process.Check(c.proc(), c.PID)
	if err != nil {
		c.add(failure("process", err))
		return
	}
	c.add(finding("process", OK, fmt.Sprintf("%d (%s), %d threads", c.PID, s.Name, s.Threads), ""))
	c.state(s)
	gates, err := process.Gates(c.proc(), c.PID)
	if err != nil {
		c.add(failure("access", err))
		return
	}
	for _, g := range gates {
		if g.Name == "seccomp" {
			continue // about prywalk itself, and above
		}
		level := OK
		if !g.OK {
			level = Fail
		}
		f := finding("target: "+g.Name, level, g.Detail, g.Remedy)
		f.Command = g.Command
		c.add(f)
	}
	c.sandbox(s)
	if !c.live {
		return
	}
	c.open()
	if c.Try {
		c.try()
	}
}

// failure turns an error into a finding.
func failure(name string, err error) Finding {
	var e *process.Error
	if errors.As(err, &e) {
		f := finding(name, Fail, e.Cause, e.Next)
		if e.Gate != nil {
			f.Remedy, f.Command = e.Gate.Remedy, e.Gate.Command
		}
		return f
	}
	return finding(name, Fail, err.Error(), "")
}

// state: a stopped process can be looked at, and stays stopped.
func (c *checkup) state(s *process.Status) {
	switch s.State {
	case 'T':
		c.add(finding("target: state", OK, "stopped (SIGSTOP): it can be sampled and stays stopped", ""))
	case 'D':
		c.add(finding("target: state", Warn, "its main thread is in uninterruptible sleep (D) and cannot be stopped",
			"wait, or use its other threads"))
	}
}

// sandbox tells about filters and namespaces of the target, which need no remedy.
func (c *checkup) sandbox(s *process.Status) {
	if s.Seccomp != 0 {
		c.add(finding("target: seccomp", OK, "has a seccomp filter, which does not affect prywalk", ""))
	}
	var other []string
	for _, ns := range []string{"pid", "mnt", "net"} {
		own, err1 := os.Readlink(filepath.Join(c.proc(), "self/ns", ns))
		its, err2 := os.Readlink(filepath.Join(c.proc(), strconv.Itoa(c.PID), "ns", ns))
		if err1 == nil && err2 == nil && own != its {
			other = append(other, ns)
		}
	}
	if len(other) > 0 {
		c.add(finding("target: namespaces", OK,
			"its own: "+strings.Join(other, ", ")+" (a container); its files are read through /proc/PID/root", ""))
	}
}

// mostTried bounds the threads that are tried.
const mostTried = 100

// try does with the process's threads what a recording does first, but for stopping them: it asks for leave to trace
// each, upon which the kernel makes all its checks, and reads where it sleeps.
func (c *checkup) try() {
	tids, err := procmem.ListTasks(c.PID, nil)
	if err != nil {
		c.add(failure("target: seize", process.Explain(c.PID, err)))
		return
	}
	tids = tids[:min(len(tids), mostTried)]
	for _, tid := range tids {
		if err := c.seize(tid); err != nil && !errors.Is(err, unix.ESRCH) {
			c.add(failure("target: seize", process.Explain(c.PID, err)))
			return
		}
	}
	c.add(finding("target: seize", OK, "the kernel lets prywalk trace its threads", ""))
	for _, tid := range tids {
		files := procmem.OpenThread(c.PID, tid, nil)
		_, err := files.Syscall()
		files.Close()
		if err != nil && !errors.Is(err, refusal.Gone) {
			c.add(failure("target: sleepers", process.Explain(c.PID, err)))
			return
		}
	}
	c.add(finding("target: sleepers", OK, "sleeping threads can be read", ""))
}

// open reads what a recording would read first.
func (c *checkup) open() {
	p, err := code.Open(c.PID)
	if err != nil {
		c.add(failure("target: open", err))
		return
	}
	defer p.Close()
	total, symbols, debug := 0, 0, 0
	seen := map[*code.Image]bool{}
	for _, m := range p.Space().Modules() {
		at := code.MappingOf(m)
		if at == nil || at.Image == nil || at.Path == "[vdso]" || seen[at.Image] {
			continue
		}
		seen[at.Image] = true
		total++
		if at.Image.ELF.Section(".symtab") != nil || c.debugFile(at.Image.BuildID) {
			symbols++
		}
		if at.Image.ELF.DebugSection("info") != nil || c.debugFile(at.Image.BuildID) {
			debug++
		}
	}
	f := finding("target: names", OK,
		fmt.Sprintf("of %d files, %d have all function names, %d also lines and inlined calls", total, symbols, debug), "")

	if symbols < total {
		f.Remedy = "install the packages' debug symbols for more names (…-dbgsym, …-debuginfo, or debuginfod-find)"
	}
	c.add(f)
	c.code(p)
	c.add(unreadable(seen))
}

// unreadable counts the files that could not be opened.
func unreadable(seen map[*code.Image]bool) Finding {
	n := 0
	for img := range seen {
		if img.FromMemory {
			n++
		}
	}
	if n == 0 {
		return finding("target: files", OK, "all can be read", "")
	}
	return finding("target: files", Warn,
		fmt.Sprintf("%d were deleted, replaced or cannot be opened; they are read from memory, with fewer names", n),
		"run prywalk with the capability CHECKPOINT_RESTORE or SYS_ADMIN, or restart the target")
}

// debugFile reports whether the separate debug file of a build id is installed.
func (c *checkup) debugFile(id string) bool {
	return len(id) > 2 && c.exists(filepath.Join("usr/lib/debug/.build-id", id[:2], id[2:]+".debug"))
}
