// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"time"

	"prywalk/benchmarks/bench/load"
	"prywalk/benchmarks/bench/tools"
	"prywalk/benchmarks/stats"
)

type measurement struct {
	*run
	workload  *workload
	session   tools.Session
	maxPairs  int
	precision float64
	ratios    []float64
	waits     []Waited
	others    cpuMeter
	stolen    cpuMeter
}

const minPairs = 3

func (m *measurement) pairs(ch toolRate) error {
	if err := m.warmUp(); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(uint64(m.workload.Threads), uint64(ch.freq)))
	until := time.Now().Add(time.Until(m.end) / time.Duration(max(m.left, 1)))
	enough := time.Now().Add(m.RowLimit)
	for !m.hasEnoughPairs(enough) {
		began := time.Now()
		if m.Limit > 0 && len(m.ratios) >= minPairs && began.After(until) {
			break
		}
		if err := m.pair(rng.IntN(2) == 0); err != nil {
			return err
		}
	}
	return nil
}

const checkPairs = 10 // between checks of the interval

func (m *measurement) hasEnoughPairs(enough time.Time) bool {
	n := len(m.ratios)
	switch {
	case n < m.maxPairs:
		return false
	case m.precision <= 0 || time.Now().After(enough):
		return true
	}
	return (n-m.maxPairs)%checkPairs == 0 && !m.tooWide()
}

func (m *measurement) tooWide() bool {
	low, high := stats.MedianInterval(m.ratios)
	return m.precision > 0 && high-low > 2*m.precision
}

func (m *measurement) warmUp() error {
	if err := m.session.Go(); err != nil {
		return err
	}
	if err := m.pause(m.Warm); err != nil {
		return err
	}
	if err := m.session.Mark(); err != nil {
		return err
	}
	return m.session.Hold()
}

func (m *measurement) pair(bareFirst bool) error {
	var bare, sampled float64
	var err error
	var w Waited
	if bareFirst {
		bare, err = m.bare(&w.Without)
	}
	if err == nil {
		sampled, err = m.sampled(&w.With)
	}
	if err == nil && !bareFirst {
		bare, err = m.bare(&w.Without)
	}
	if err == nil && bare > 0 {
		m.ratios = append(m.ratios, sampled/bare)
		m.waits = append(m.waits, w)
	}
	return err
}

func (m *measurement) bare(waits *json.RawMessage) (float64, error) {
	if err := m.pause(m.Settle / 2); err != nil {
		return 0, err
	}
	return m.window(waits, &m.others)
}

func (m *measurement) sampled(waits *json.RawMessage) (work float64, err error) {
	if err := m.session.Go(); err != nil {
		return 0, err
	}
	if err = m.pause(m.Settle); err == nil {
		err = m.session.Mark()
	}
	if err == nil {
		work, err = m.window(waits, &m.stolen)
	}
	return work, cmp.Or(err, m.session.Hold())
}

func (m *measurement) window(waits *json.RawMessage, cpu *cpuMeter) (float64, error) {
	cpu.begin()
	defer cpu.end()
	before, err := m.workload.report()
	if err == nil {
		err = m.pause(m.Window)
	}
	if err != nil {
		return 0, err
	}
	after, err := m.workload.report()
	if err != nil || after.At <= before.At {
		return 0, err
	}
	*waits = after.Waits
	return float64(after.Work-before.Work) / (float64(after.At-before.At) / 1e9), nil
}

func (m *measurement) pause(d time.Duration) error {
	select {
	case <-m.ctx.Done():
		return m.ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (m *measurement) row(ch toolRate, j *tools.Job, t *tools.Totals) Row {
	r := Row{
		Workload: m.workload.Name, Threads: m.workload.Threads, Running: m.workload.Running, Depth: m.workload.Depth,
		Freq: ch.freq, Pairs: len(m.ratios), Peer: ch.Name, StopTimes: t.StopTimes,
		AskedPerS: ch.freq * float64(m.workload.Running),
	}
	if r.Workload == load.Busy {
		r.Workload = ""
	}
	if ch.AllThreads {
		r.AskedPerS = ch.freq * float64(j.Threads)
	}
	if r.Pairs > 0 {
		r.Low, r.High = stats.MedianInterval(m.ratios)
		r.Ratio, r.Ratios = stats.Median(m.ratios), slices.Sorted(slices.Values(m.ratios))
		r.Wide, r.Others, r.Stolen = m.tooWide(), m.others.share(), m.stolen.share()
	}
	r.count(t)
	if m.workload.Latency != nil {
		r.Latency = m.workload.Latency(m.waits)
	}
	return r
}

func (r *Row) count(t *tools.Totals) {
	r.SamplesPerS = float64(max(t.Samples, 0)) / max(t.Seconds, 1e-9)
	r.StopsPerS = share(t.Stops, t.Seconds)
	r.SyscallsPerTick = share(t.Calls, float64(t.Ticks))
	r.BytesPerTick = share(t.Copied, float64(t.Ticks))
	r.Complete = share(t.Complete, float64(t.Samples))
	if t.CPU >= 0 && t.Seconds > 0 {
		cpu, after := t.CPU/t.Seconds, t.After/t.Seconds
		r.CPUSelf, r.CPUAfter = &cpu, &after
	}
	if t.RecordingMB > 0 {
		r.RecordingMB = &t.RecordingMB
	}
	if t.MemoryMB > 0 {
		r.MemoryMB = &t.MemoryMB
	}
}

func share(n int64, whole float64) *float64 {
	if n < 0 || whole <= 0 {
		return nil
	}
	x := float64(n) / whole
	return &x
}
