// SPDX-License-Identifier: Apache-2.0

// Package selection chooses processes of the whole machine: all, or by control group, systemd unit, user, or names. A
// [Finder] is called repeatedly: it reads young processes each time, older ones once in rereadTurns calls, and of
// selected ones at most the start time.
package selection

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"prywalk/internal/host/container"
	"prywalk/internal/host/process"
)

const (
	// youngTicks, of 10 ms (USER_HZ): younger processes are read at each call, as their first program, user and group
	// are often not their own.
	youngTicks = 1000
	// rereadTurns is the number of calls in which each other process is read once.
	rereadTurns = 16
)

// Finder finds a rule's processes. Not safe for concurrent use.
type Finder struct {
	rule Rule
	root string // /proc
	self int
	seen map[int]candidate
	turn int

	containers container.Names
}

type candidate struct {
	start    uint64 // clock ticks after boot
	selected bool
}

// Process is a process with its names.
type Process struct {
	PID int
	// Name is the kernel's (comm); Others are of the executable and of the first argument, and the first word of a title
	// that the process has set (setproctitle).
	Name    string
	Others  []string
	Command string
}

// NewFinder returns a rule's finder.
func NewFinder(r Rule) *Finder {
	return &Finder{rule: r, root: "/proc", self: os.Getpid(), seen: map[int]candidate{}}
}

// Find returns the selected processes in ascending order, without prywalk, kernel threads, and processes that had
// ended when they were first seen. A selected one stays selected until it is reaped. now is in clock ticks after boot.
func (f *Finder) Find(now uint64) (pids []int) {
	f.turn++
	dirs, err := os.ReadDir(f.root)
	if err != nil {
		return nil
	}
	listed := make(map[int]bool, len(dirs))
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid == f.self {
			continue
		}
		listed[pid] = true
		c, known := f.seen[pid]
		mayBeOther := known && c.selected && !f.rule.selectsAny() // with the number of the one that was read
		if mayBeOther && process.ReadStat(f.root, pid).StartTime != c.start {
			known = false
		}
		old := now-c.start > youngTicks && (pid+f.turn)%rereadTurns != 0
		if !known || !old && !c.selected {
			if c, known = f.read(pid); !known {
				delete(f.seen, pid)
				continue
			}
			f.seen[pid] = c
		}
		if c.selected {
			pids = append(pids, pid)
		}
	}
	for pid := range f.seen {
		if !listed[pid] {
			delete(f.seen, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// Containers returns the containers of processes, or of all for nil, each once, in the order of their ids.
func (f *Finder) Containers(pids []int) []container.Container {
	all := map[string]container.Container{}
	if pids == nil {
		for pid := range f.seen {
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids {
		groups, err := os.ReadFile(filepath.Join(f.root, strconv.Itoa(pid), "cgroup"))
		if c := f.containers.Of(string(groups)); err == nil && c.ID != "" {
			all[c.ID] = c
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b container.Container) int { return strings.Compare(a.ID, b.ID) })
}

// read decides on a process; ok is false if it has ended.
func (f *Finder) read(pid int) (c candidate, ok bool) {
	s, err := process.ReadStatus(f.root, pid)
	if err != nil {
		return c, false
	}
	c.start = s.Start
	p, hasProgram := ReadProcess(f.root, pid)
	if !hasProgram || f.rule.uid >= 0 && int(s.UID[1]) != f.rule.uid {
		return c, true
	}
	if f.rule.Criteria.Cgroup != "" || f.rule.Criteria.Unit != "" || f.rule.hasContainer() {
		groups, err := os.ReadFile(filepath.Join(f.root, strconv.Itoa(pid), "cgroup"))
		if err != nil || !f.rule.inGroups(string(groups)) {
			return c, true
		}
		if f.rule.hasContainer() {
			if of := f.containers.Of(string(groups)); !f.rule.inContainer(&of) {
				return c, true
			}
		}
	}
	c.selected = f.rule.match == nil || f.rule.match.MatchString(p.Name) ||
		slices.ContainsFunc(p.Others, f.rule.match.MatchString)
	return c, true
}

// ReadProcess reads from root, a mounted proc. False: no command line.
func ReadProcess(root string, pid int) (p Process, ok bool) {
	dir := filepath.Join(root, strconv.Itoa(pid))
	comm, err := os.ReadFile(dir + "/comm")
	if err != nil {
		return p, false
	}
	line, err := os.ReadFile(dir + "/cmdline")
	if err == nil && len(line) == 0 { // perhaps the first thread has ended: the others still have it
		dir, line = commandOfThread(dir)
	}
	if err != nil || len(line) == 0 {
		return p, false
	}
	args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	p = Process{PID: pid, Name: strings.TrimRight(string(comm), "\n"), Command: strings.Join(args, " ")}
	p.Others = append(p.Others, path.Base(args[0]))
	if title, _, ok := strings.Cut(args[0], " "); ok && len(args) == 1 && !strings.HasPrefix(title, "/") {
		p.Others = append(p.Others, strings.TrimSuffix(title, ":"))
	}
	if exe, err := os.Readlink(dir + "/exe"); err == nil { // may be denied
		p.Others = append(p.Others, path.Base(exe))
		if program := process.LoadedProgram(path.Base(exe), args); program != "" {
			p.Others = append(p.Others, path.Base(program))
		}
	}
	return p, true
}

// commandOfThread returns a nil line if no thread has one.
func commandOfThread(process string) (dir string, line []byte) {
	threads, err := os.ReadDir(process + "/task")
	if err != nil {
		return process, nil
	}
	for _, t := range threads {
		dir = filepath.Join(process, "task", t.Name())
		if line, err = os.ReadFile(dir + "/cmdline"); err == nil && len(line) > 0 {
			return dir, line
		}
	}
	return process, nil
}
