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

	"prywalk/internal/base/errs"
	"prywalk/internal/base/tabular"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/cgroup"
	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
)

func (c *checker) process() Finding {
	s, err := process.Check(c.system.proc(), c.subject.PID)
	if err != nil {
		return failure(err)
	}
	c.target = s
	return finding(OK, fmt.Sprintf("%d (%s), %s", c.subject.PID, s.Name, tabular.Plural(int64(s.Threads), "thread")), "")
}

func (c *checker) state() Finding {
	if dir := cgroup.Root(c.system.dir).Frozen(c.subject.PID); dir != "" {
		return finding(Warn, fmt.Sprintf("its cgroup %s is frozen: none of its threads runs", dir),
			"let it continue: docker unpause, systemctl thaw, or 0 in cgroup.freeze (v1: THAWED in freezer.state)")
	}
	switch c.target.State {
	case 'T':
		return finding(OK, "stopped (SIGSTOP): it can be sampled and stays stopped", "")
	case 'D':
		return finding(Warn, "its main thread is in uninterruptible sleep (D) and cannot be stopped: it is sampled only "+
			"where no stop is needed", "wait until it continues; the other threads are sampled")
	}
	return Finding{}
}

// access reports each condition of the kernel. If they cannot be read, later checks of the target are left out.
func (c *checker) access() Finding {
	gates, err := process.Gates(c.system.proc(), c.subject.PID)
	if err != nil {
		c.refused = true
		return failure(err)
	}
	for _, g := range gates {
		if g.Name == seccompCheck {
			continue // prywalk's own, checked by seccomp
		}
		f := finding(OK, g.Detail, g.Remedy)
		switch {
		case !g.OK:
			f.Level, f.denied = Fail, g.Name != "tracer"
		case g.Unknown:
			f.Level = Warn
		}
		f.Command, f.needsCaps = g.Command, g.Needs
		c.add(f, "target: "+g.Name)
	}
	return Finding{}
}

func (c *checker) targetSeccomp() Finding {
	if c.target.Seccomp == 0 {
		return Finding{}
	}
	return finding(OK, "has a seccomp filter; if a supervisor answers its calls, the supervisor can see a call twice "+
		"that a stop interrupted", "")
}

func (c *checker) namespaces() Finding {
	var other []string
	for _, ns := range []string{"pid", "mnt", "net"} {
		own, err1 := os.Readlink(filepath.Join(c.system.proc(), "self/ns", ns))
		its, err2 := os.Readlink(filepath.Join(c.system.proc(), strconv.Itoa(c.subject.PID), "ns", ns))
		if err1 == nil && err2 == nil && own != its {
			other = append(other, ns)
		}
	}
	if len(other) == 0 {
		return Finding{}
	}
	return finding(OK, "its own: "+strings.Join(other, ", ")+" (a container); its files are read through /proc/PID/root",
		"")
}

func (c *checker) open() Finding {
	if !c.system.live {
		return Finding{}
	}
	var err error
	if c.opened, err = loadedcode.Open(c.subject.PID); err != nil {
		c.opened = nil
		return failure(err)
	}
	return Finding{}
}

const maxTried = 100

func (c *checker) tids() ([]int, error) {
	tids, err := procmem.ListTasks(c.subject.PID, nil)
	return tids[:min(len(tids), maxTried)], err
}

// seizes lets the kernel check the right to seize each thread, which stops nothing.
func (c *checker) seizes() Finding {
	tids, err := c.tids()
	for _, tid := range tids {
		if err == nil {
			err = c.subject.seize(tid)
		}
		if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EPERM) && c.threadEnded(tid) {
			err = nil
		}
	}
	if err != nil {
		c.refused = true // sleeping threads would be refused, too
		return failure(process.Explain(c.subject.PID, err))
	}
	if len(tids) > 0 {
		c.filterAllowsTracing()
	}
	return finding(OK, "the kernel lets prywalk trace its threads", "")
}

// threadEnded reports a zombie, such as a first thread that ended before others. The kernel refuses to seize it.
func (c *checker) threadEnded(tid int) bool {
	s, err := process.ReadStatus(c.system.proc(), tid)
	return err == nil && s.State == 'Z'
}

// sleepers reads where threads sleep, as a passive read does.
func (c *checker) sleepers() Finding {
	tids, err := c.tids()
	for _, tid := range tids {
		files := procmem.OpenThread(c.subject.PID, tid, nil)
		_, why := files.Syscall()
		files.Close()
		if why != nil && !errors.Is(why, errs.Exited) {
			err = why
			break
		}
	}
	if err != nil {
		return failure(process.Explain(c.subject.PID, err))
	}
	return finding(OK, "sleeping threads can be read", "")
}

// seize stops nothing; the kernel detaches when the tracing thread ends (ptrace(2)).
func seize(pid int) (err error) {
	procmem.OnOSThread(func() { err = unix.PtraceSeize(pid) })
	return err
}
