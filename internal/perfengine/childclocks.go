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

// childClocks reports the CPU time of descendants that are never tracked, by program, from records that are permitted
// to ordinary users ([perfevents.OpenDescendants]).
type childClocks struct {
	run     *engine.Run
	threads func() int         // number of tracked threads
	reader  *perfevents.Reader // nil: no records
	table   *descendants.Table[*handover.Process, struct{}]
	checked int64 // last check of the cost, CLOCK_MONOTONIC ns
	records int   // since then
}

const (
	// mostDescriptors bounds the descriptors for one process. The children of one that needs more are not recorded.
	mostDescriptors = 512
	// mostRecords bounds the records a second: each costs the target some 0.3 µs.
	mostRecords = 20000
	// mostInherited bounds the events of threads: each is more than a kilobyte of the kernel's memory.
	mostInherited = 8192
)

func (d *childClocks) begin(r *perfevents.Reader) {
	if r != nil {
		d.reader, d.table, d.checked = r, descendants.New[*handover.Process, struct{}](), procmem.Now()
	}
}

// processTracked opens events for the threads of a process. If an ancestor has events, they record it already.
func (d *childClocks) processTracked(p *process) {
	if d.reader == nil {
		return
	}
	d.table.TrackClocks(p.Target.PID, p.Shared)
	if p.Shared.FromStart {
		return
	}
	tids, err := p.Tasks.ListFrom(0, nil)
	if err != nil || len(tids)*d.reader.Events() > mostDescriptors {
		return
	}
	for _, tid := range tids {
		if !d.run.Files.Take(d.reader.Events()) {
			return
		}
		if d.reader.OpenThread(tid) != nil { // ended or refused
			d.run.Files.Give(d.reader.Events())
		}
	}
}

func (d *childClocks) processEnded(p *process, end *attribute.ProcessEnd) {
	if d.report(d.run.Tick.At); d.table != nil {
		end.Counted = d.table.ForgetClocks(p.Target.PID, p.Shared)
	}
}

func (d *childClocks) report(now int64) {
	if d.reader == nil {
		return
	}
	d.records += d.table.DrainClocks(d.reader)
	if since := now - d.checked; since >= checkEvery {
		costly := float64(d.records) > mostRecords*float64(since)/1e9 || d.threads()*d.reader.Events() > mostInherited
		if costly || d.reader.ProcessorsChanged() {
			d.giveUp()
			return
		}
		d.checked, d.records = now, 0
		d.table.Sweep()
	}
	for p := range d.table.All() {
		if p.Ended {
			d.claim(p, true)
		}
	}
}

// claim reports the CPU time of a descendant. exact reports that it is the whole time.
func (d *childClocks) claim(p *descendants.Untracked[*handover.Process, struct{}], exact bool) {
	for i, s := range p.Spent {
		s.Program.Keep()
		d.run.Out.Add(handover.Event{
			Kind: handover.ChildKnown, Proc: p.Waiter, Ran: s.Program, At: d.run.Tick.At, Length: s.NS, Exact: exact,
			Last: i == len(p.Spent)-1,
		})
	}
}

// giveUp ends the records, as they cost too much.
func (d *childClocks) giveUp() {
	for p := range d.table.All() {
		d.claim(p, false)
	}
	d.run.Files.Give(d.reader.Events() * d.reader.OpenThreads())
	d.reader.Close()
	d.reader, d.table, d.checked, d.records = nil, nil, 0, 0
}

func (d *childClocks) pause() {
	if d.reader != nil {
		d.reader.Pause()
	}
}

func (d *childClocks) resume() {
	if d.reader != nil {
		d.reader.Resume()
		d.table.Interrupted()
	}
}
