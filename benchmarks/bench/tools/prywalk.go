// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"prywalk/internal/watch/sampler"
)

type prywalk struct {
	*Orders
	spent Stretch
	stats string
	file  string
	on    time.Time
	whole time.Duration  // sum of the times switched on
	base  sampler.Counts // at the last begin
	sum   sampler.Counts
}

func startPrywalk(ctx context.Context, j *Job) (Session, error) {
	p := &prywalk{stats: filepath.Join(j.Dir, "stats.json"), file: filepath.Join(j.Dir, "prywalk.pb.gz"), on: time.Now()}
	args := []string{
		"record", "-p", j.PIDs(), "-F", strconv.FormatFloat(j.Freq, 'g', -1, 64),
		"-o", p.file, "--stats", p.stats, "--control",
	}
	if j.MaxDepth > 0 {
		args = append(args, "--max-depth", strconv.Itoa(j.MaxDepth))
	}
	if j.Engine != "" {
		args = append(args, "--engine", j.Engine)
	}
	var err error
	if p.Orders, err = StartOrders(ctx, j.Self, args...); err != nil {
		return nil, err
	}
	p.spent.PID = p.PID()
	for n := int64(0); n < 2; time.Sleep(time.Millisecond) {
		got, err := p.ask("tell")
		if err != nil {
			p.Kill()
			return nil, err
		}
		n = got.Ticks
	}
	if err := p.Hold(); err != nil {
		p.Kill()
		return nil, err
	}
	p.sum, p.spent.Seconds, p.spent.CPU = sampler.Counts{}, 0, 0
	return p, nil
}

func (p *prywalk) ask(order string) (got sampler.Counts, err error) {
	line, err := p.Send(order)
	if err == nil {
		err = json.Unmarshal(line, &got)
	}
	return got, err
}

// Go implements Session.
func (p *prywalk) Go() (err error) {
	p.on = time.Now()
	p.base, err = p.ask("go")
	p.spent.Begin()
	return err
}

// Mark implements Session.
func (p *prywalk) Mark() (err error) {
	p.base, err = p.ask("tell")
	p.spent.Begin()
	return err
}

// Hold implements Session.
func (p *prywalk) Hold() error {
	now, err := p.ask("tell")
	p.spent.End()
	p.sum.Ticks += now.Ticks - p.base.Ticks
	p.sum.Stops += now.Stops - p.base.Stops
	p.sum.Syscalls += now.Syscalls - p.base.Syscalls
	p.sum.Copied += now.Copied - p.base.Copied
	if err == nil {
		_, err = p.ask("hold")
	}
	p.whole += time.Since(p.on)
	return err
}

// Finish implements Session.
func (p *prywalk) Finish() (t Totals, err error) {
	defer p.Close()
	t = Totals{Seconds: p.spent.Seconds, CPU: p.spent.CPU, Ticks: p.sum.Ticks, Stops: p.sum.Stops, Calls: p.sum.Syscalls,
		Copied: p.sum.Copied}
	if err := p.finish(&t); err != nil {
		return t, err
	}
	if st, err := os.Stat(p.file); err == nil && p.whole > 0 {
		t.RecordingMB = float64(st.Size()) / 1e6 / p.whole.Minutes()
	}
	var st struct {
		Ticks      int64      `json:"ticks"`
		Samples    int64      `json:"samples"`
		Complete   int64      `json:"complete"`
		StopTimes  *StopTimes `json:"stop_us"`
		Scheduling string     `json:"scheduling"`
	}
	text, err := os.ReadFile(p.stats)
	if err == nil {
		err = json.Unmarshal(text, &st)
	}
	if err != nil {
		return t, fmt.Errorf("prywalk record left no statistics: %w: %s", err, p.said())
	}
	// The samples of the whole run, in proportion to the counted ticks.
	t.Samples, t.Complete, t.StopTimes, t.Scheduling = -1, -1, st.StopTimes, st.Scheduling
	if st.Ticks > 0 {
		t.Samples = st.Samples * p.sum.Ticks / st.Ticks
		t.Complete = st.Complete * p.sum.Ticks / st.Ticks
	}
	return t, nil
}
