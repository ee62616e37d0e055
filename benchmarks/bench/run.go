// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"prywalk/benchmarks/bench/load"
	"prywalk/benchmarks/bench/tools"
)

// Report takes results one by one.
type Report struct {
	Row  func(Row)
	Skip func(string)
}

type run struct {
	Plan
	ctx    context.Context
	dir    string
	res    *Result
	report Report
	jobs   int
	end    time.Time
	left   int
	absent map[string]bool
}

// Run measures a plan. version is prywalk's.
func Run(ctx context.Context, p Plan, version string, report Report) (*Result, error) {
	r := &run{Plan: p, ctx: ctx, report: report, absent: map[string]bool{}, end: time.Now().Add(p.Limit)}
	r.res = &Result{Machine: thisMachine(version), Rows: []Row{}}
	var err error
	if r.dir, err = os.MkdirTemp("", "prywalk-bench-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(r.dir)
	cells := p.cells()
	for _, c := range cells {
		r.left += len(r.toolRates(c))
	}
	for _, c := range cells {
		if err := r.cell(c); err != nil {
			return r.res, err
		}
	}
	return r.res, nil
}

type toolRate struct {
	tools.Tool
	freq float64
}

func (r *run) toolRates(c cell) []toolRate {
	list := []tools.Tool{tools.Prywalk()}
	if slices.Contains(r.PeerThreads, c.Threads) || c.Name != load.Busy {
		list = append(list, r.Peers...)
	}
	var out []toolRate
	for i, freq := range r.Freqs {
		for _, t := range list {
			if t.For(c.Kind) && !r.absent[t.Name] && (i == 0 || !t.Unpaced) {
				out = append(out, toolRate{t, freq})
			}
		}
	}
	return out
}

func (r *run) cell(c cell) error {
	s, err := startWorkload(r.ctx, r.dir, c)
	if errors.Is(err, ErrAbsent) {
		r.skip(fmt.Sprintf("workload %s left out: %v", c.Name, err))
		r.left -= len(r.toolRates(c))
		return nil
	}
	if err != nil {
		return err
	}
	defer s.stop()
	for _, ch := range r.toolRates(c) {
		row, err := r.row(s, ch)
		r.left--
		switch {
		case err == nil:
			r.res.Rows = append(r.res.Rows, row)
			r.report.Row(row)
		case ch.Name == "" || r.ctx.Err() != nil:
			return err
		case !r.absent[ch.Name]:
			r.skip(fmt.Sprintf("peer %s left out with %d threads at %.0f Hz: %v", ch.Name, c.Threads, ch.freq, err))
		}
	}
	return nil
}

func (r *run) skip(line string) {
	r.res.Skipped = append(r.res.Skipped, line)
	r.report.Skip(line)
}

func (r *run) row(s *workload, ch toolRate) (Row, error) {
	r.jobs++
	j := &tools.Job{
		PID: s.pids[0], Others: s.pids[1:], Threads: s.tasks(), Freq: ch.freq, Self: r.Self,
		Engine: r.Engine,
		Dir:    filepath.Join(r.dir, strconv.Itoa(r.jobs)),
	}
	if s.Depth > 0 {
		j.MaxDepth = s.Depth + 100
	}
	if err := os.Mkdir(j.Dir, 0o700); err != nil {
		return Row{}, err
	}
	defer os.RemoveAll(j.Dir)
	if err := ch.Check(j); err != nil {
		if !r.absent[ch.Name] {
			r.absent[ch.Name] = true
			r.skip(fmt.Sprintf("peer %s left out: %v", ch.Name, err))
		}
		return Row{}, err
	}
	session, err := ch.Start(r.ctx, j)
	if err != nil {
		return Row{}, err
	}
	m := &measurement{run: r, workload: s, session: session, maxPairs: r.Pairs, precision: r.Precision,
		stolen: stealMeter()}
	if s.ownProcess() {
		m.others = othersMeter(j.PID)
	}
	if ch.Name != "" {
		m.maxPairs, m.precision = r.PeerPairs, 0
	}
	if err := m.pairs(ch); err != nil {
		session.Kill()
		return Row{}, err
	}
	j.Threads = max(j.Threads, s.tasks()) // it may have started threads
	t, err := session.Finish()
	if err != nil {
		session.Kill()
		return Row{}, err
	}
	if t.Scheduling != "" {
		r.res.Machine.Scheduling = t.Scheduling
	}
	return m.row(ch, j, &t), nil
}
