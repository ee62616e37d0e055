// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"errors"

	"golang.org/x/sys/unix"

	"prywalk/internal/attribute"
	"prywalk/internal/descendants"
	"prywalk/internal/engine"
	"prywalk/internal/perfevents"
	"prywalk/internal/procmem"
	"prywalk/internal/target"
)

// childClocks reports the CPU time of untracked descendants by program, for ordinary users.
type childClocks struct {
	shared    *engine.SharedState
	host      engine.Host
	threads   func() int         // tracked ones with events
	reader    *perfevents.Reader // nil without records
	table     *descendants.Table[*target.Process, struct{}]
	checkedAt int64 // CLOCK_MONOTONIC ns
	records   int   // since then
	taken     int   // descriptors, from the budget
	launched  int   // recorded process that is not tracked yet; 0: none
}

const (
	// maxDescriptors bounds the descriptors for a process, beside half of those left: each takes 20 to 40 µs to open.
	maxDescriptors = 2048
	maxRecords     = 20000 // per second: each costs the target some 0.3 µs
	maxInherited   = 8192  // events of threads: each takes more than 1 KiB of kernel memory
)

func (c *childClocks) begin(r *perfevents.Reader, launched int) {
	if r != nil {
		c.reader, c.launched = r, launched
		c.table = descendants.New[*target.Process, struct{}]()
		c.checkedAt = procmem.Now()
	}
}

// processTracked begins records of a process's children, unless they have begun with itself. Without them the tracer
// finds these children.
func (c *childClocks) processTracked(p *process) {
	if c.reader == nil {
		return
	}
	c.drain() // perhaps its creation
	pid := p.Target.PID
	switch {
	case c.table.Find(pid) != nil: // a recorded process has created it
		p.childrenRecorded = true
	case pid == c.launched:
		p.childrenRecorded, c.launched = true, 0
	case !p.FromStart:
		tids, err := p.TaskDir.List(nil)
		p.childrenRecorded = err == nil && c.openThreads(tids)
	}
	c.table.TrackWithClocks(pid, p.childrenOwner())
}

// openThreads returns false, and opens nothing, if not all children of the threads would be recorded.
func (c *childClocks) openThreads(tids []int) bool {
	each := c.reader.Events()
	all := len(tids) * each
	if all > min(maxDescriptors, c.shared.Files.Left()/2) || !c.shared.Files.Take(all) {
		return false
	}
	c.taken += all
	for i, tid := range tids {
		c.host.PollStops()
		err := c.reader.OpenThread(tid)
		if err == nil || errors.Is(err, unix.ESRCH) {
			continue
		}
		for _, opened := range tids[:i] {
			c.reader.CloseThread(opened)
		}
		c.shared.Files.Give(all)
		c.taken -= all
		return false
	}
	return true
}

func (c *childClocks) drain() { c.records += c.table.DrainClocks(c.reader) }

func (c *childClocks) processEnded(p *process, end *attribute.ProcessEnd) {
	c.report(c.shared.Tick.At)
	if c.table != nil {
		end.BySwitches = c.table.ForgetWithClocks(p.Target.PID, p.childrenOwner())
	}
}

func (c *childClocks) report(now int64) {
	if c.reader == nil {
		return
	}
	c.drain()
	if since := now - c.checkedAt; since >= checkEvery {
		costly := float64(c.records) > maxRecords*float64(since)/1e9 || c.threads()*c.reader.Events() > maxInherited
		if costly || c.reader.CPUsChanged() {
			c.giveUp()
			return
		}
		c.checkedAt, c.records = now, 0
		c.table.FindLostEnds()
	}
	for p := range c.table.All() {
		if p.Ended {
			c.reportTimes(p, true)
		}
	}
}

func (c *childClocks) reportTimes(p *descendants.Untracked[*target.Process, struct{}], allCounted bool) {
	for i, s := range p.Times {
		s.Program.Freeze()
		c.shared.Out.Add(target.Event{
			Program: s.Program, What: &attribute.ChildCounted{
				Process: p.Ancestor.ID, CPU: s.NS, AllCounted: allCounted, ChildEnded: i == len(p.Times)-1,
			},
		})
	}
}

func (c *childClocks) giveUp() {
	for p := range c.table.All() {
		c.reportTimes(p, false)
	}
	c.shared.Files.Give(c.taken)
	c.reader.Close()
	*c = childClocks{shared: c.shared, host: c.host, threads: c.threads}
}

func (c *childClocks) pause() {
	if c.reader != nil {
		c.reader.Pause()
		c.drain() // before the gap
	}
}

func (c *childClocks) resume() {
	if c.reader != nil {
		c.reader.Resume()
		c.table.NoteGap()
	}
}
