// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"prywalk/internal/attribute"
	"prywalk/internal/descendants"
	"prywalk/internal/engine"
	"prywalk/internal/handover"
	"prywalk/internal/perfevents"
	"prywalk/internal/procmem"
)

// childClocks reports the CPU time of untracked descendants by program, for ordinary users.
type childClocks struct {
	shared    *engine.SharedState
	threads   func() int         // tracked ones
	reader    *perfevents.Reader // nil without records
	table     *descendants.Table[*handover.SharedProcess, struct{}]
	checkedAt int64 // CLOCK_MONOTONIC ns
	records   int   // since then
	taken     int   // descriptors, from the budget
}

const (
	// maxDescriptors bounds the descriptors for a process.
	maxDescriptors = 512
	maxRecords     = 20000 // per second: each costs the target some 0.3 µs
	maxInherited   = 8192  // events of threads: each takes more than 1 KiB of kernel memory
)

func (c *childClocks) begin(r *perfevents.Reader) {
	if r != nil {
		c.reader = r
		c.table = descendants.New[*handover.SharedProcess, struct{}]()
		c.checkedAt = procmem.Now()
	}
}

// processTracked opens events for a process's threads, unless an ancestor's record them.
func (c *childClocks) processTracked(p *process) {
	if c.reader == nil {
		return
	}
	c.table.TrackWithClocks(p.Target.PID, p.Handover)
	if p.Handover.FromStart {
		return
	}
	tids, err := p.TaskDir.ListFrom(0, nil)
	if err != nil || len(tids)*c.reader.Events() > maxDescriptors {
		return
	}
	n := c.reader.Events()
	for _, tid := range tids {
		if !c.shared.Files.Take(n) {
			return
		}
		if c.reader.OpenThread(tid) != nil { // ended or refused
			c.shared.Files.Give(n)
			continue
		}
		c.taken += n
	}
}

func (c *childClocks) processEnded(p *process, end *attribute.ProcessEnd) {
	c.report(c.shared.Tick.At)
	if c.table != nil {
		end.BySwitches = c.table.ForgetWithClocks(p.Target.PID, p.Handover)
	}
}

func (c *childClocks) report(now int64) {
	if c.reader == nil {
		return
	}
	c.records += c.table.DrainClocks(c.reader)
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

func (c *childClocks) reportTimes(p *descendants.Untracked[*handover.SharedProcess, struct{}], allCounted bool) {
	for i, s := range p.Times {
		s.Program.Freeze()
		c.shared.Out.Add(handover.Event{
			Kind: handover.ChildCounted, Proc: p.Ancestor, Program: s.Program, At: c.shared.Tick.At, CPU: s.NS,
			AllCounted: allCounted, ChildEnded: i == len(p.Times)-1,
		})
	}
}

func (c *childClocks) giveUp() {
	for p := range c.table.All() {
		c.reportTimes(p, false)
	}
	c.shared.Files.Give(c.taken)
	c.reader.Close()
	*c = childClocks{shared: c.shared, threads: c.threads}
}

func (c *childClocks) pause() {
	if c.reader != nil {
		c.reader.Pause()
	}
}

func (c *childClocks) resume() {
	if c.reader != nil {
		c.reader.Resume()
		c.table.NoteGap()
	}
}
