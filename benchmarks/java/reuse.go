// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	littleendian "encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/benchmarks/recordings"
	"prywalk/internal/testtargets"
)

// Reuse.java makes and drops classes, and shows the called method's number in a file. A name is wrong if its method was
// not called within reuseTolerance of the sample.

// reuseTolerance bounds the difference of the tools' clocks; memory is mostly reused later.
const reuseTolerance = 10 * time.Millisecond

type numbers struct {
	sync.Mutex
	seen []called
}

type called struct {
	number      int
	first, last time.Time
}

func (n *numbers) watch(ctx context.Context, file []byte) {
	for ctx.Err() == nil {
		is, now := int(littleendian.LittleEndian.Uint32(file)), time.Now()
		n.Lock()
		if at := len(n.seen) - 1; at >= 0 && n.seen[at].number == is {
			n.seen[at].last = now
		} else if is != 0 {
			n.seen = append(n.seen, called{is, now, now})
		}
		n.Unlock()
		time.Sleep(100 * time.Microsecond)
	}
}

// called reports whether a method may have been called in an interval: not surely before, nor surely after.
func (n *numbers) called(number int, from, to time.Time) bool {
	n.Lock()
	defer n.Unlock()
	i, met := slices.BinarySearchFunc(n.seen, number, func(c called, number int) int { return c.number - number })
	if i > 0 && to.Before(n.seen[i-1].last.Add(-reuseTolerance)) {
		return false
	}
	if met {
		i++
	}
	return i < len(n.seen) && from.Before(n.seen[i].first.Add(reuseTolerance))
}

type judged struct {
	samples, right, wrong int
	between               int
	other                 map[string]int
}

var reuseTools = []struct{ name, event string }{
	{"prywalk", ""}, {"async-cpu", "cpu"}, {"async-itimer", "itimer"}, {"jfr", ""},
}

func measureReuse(ctx context.Context, dir string) error {
	source, err := testtargets.Source("Reuse.java")
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "Reuse.java")
	if err := os.WriteFile(file, source, 0o600); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "javac", "-d", dir, file).CombinedOutput(); err != nil {
		return fmt.Errorf("javac: %w: %s", err, out)
	}
	for _, tool := range reuseTools {
		if *only != "" && !strings.Contains(","+*only+",", ","+tool.name+",") {
			continue
		}
		j, err := judgeReuse(ctx, dir, tool.name, tool.event)
		if err != nil {
			return fmt.Errorf("%s: %w", tool.name, err)
		}
		fmt.Printf("%s: %d samples; numbered names: %d right (%d by the inside of an interval), %d wrong; instead: %v\n",
			tool.name, j.samples, j.right, j.between, j.wrong, j.other)
	}
	return nil
}

func judgeReuse(ctx context.Context, dir, name, event string) (*judged, error) {
	shared := filepath.Join(dir, "number-"+name)
	if err := os.WriteFile(shared, make([]byte, os.Getpagesize()), 0o600); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(shared, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	number, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	argv := append(strings.Fields(*options), "-Xmx32m", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=8m", "-cp", dir,
		"Reuse", shared)
	cmd := exec.CommandContext(ctx, *java, argv...)
	if err := cmd.Start(); err != nil {
		stop()
		return nil, err
	}
	n := &numbers{}
	var watching sync.WaitGroup
	watching.Go(func() { n.watch(ctx, number) })
	defer func() {
		stop()
		watching.Wait()
		_ = cmd.Wait()
		_ = unix.Munmap(number)
	}()
	if err := pause(ctx, *warm); err != nil {
		return nil, err
	}
	t := newTool(name, cmd.Process.Pid, dir)
	out := filepath.Join(dir, name+".jfr")
	began := time.Now()
	switch name {
	case "prywalk":
		err = exec.CommandContext(ctx, *binary, "record", "-p", strconv.Itoa(t.pid), "-F", strconv.Itoa(*freq), "-d",
			reuse.String(), "-o", out).Run()
	case "jfr":
		var off func() error
		if off, err = t.on(ctx, out); err == nil {
			if err = pause(ctx, *reuse); err == nil {
				err = off()
			}
		}
	default:
		err = t.async(ctx, event, out)
	}
	if err != nil {
		return nil, err
	}
	j := &judged{other: map[string]int{}}
	if name == "prywalk" {
		return j, j.readProfile(out, n, began)
	}
	return j, j.readEvents(ctx, out, n, began)
}

func (t *tool) async(ctx context.Context, event, file string) error {
	library, err := filepath.Abs(filepath.Join(*loadDir, "libasyncProfiler.so"))
	if err != nil {
		return err
	}
	period := time.Second / time.Duration(*freq)
	err = t.jcmd(ctx, "JVMTI.agent_load", library, fmt.Sprintf(`"start,event=%s,interval=%d,jfr,file=%s"`, event,
		period.Nanoseconds(), file))
	if err == nil {
		err = pause(ctx, *reuse)
	}
	if err == nil {
		err = t.jcmd(ctx, "JVMTI.agent_load", library, `"stop"`)
	}
	return err
}

var reuseNumber = regexp.MustCompile(`^[mk](\d{8})$`)

func (j *judged) add(methods []string, n *numbers, from, to time.Time) {
	j.samples++
	for i, name := range methods {
		m := reuseNumber.FindStringSubmatch(name)
		if m == nil {
			if i+1 < len(methods) && reflective(methods[i+1]) && !reflective(name) {
				j.other[name]++
			}
			continue
		}
		number, _ := strconv.Atoi(m[1])
		if n.called(number, from, to) {
			j.right++
			if !n.called(number, from, from) && !n.called(number, to, to) {
				j.between++
			}
		} else {
			j.wrong++
		}
	}
}

func reflective(name string) bool { return strings.HasPrefix(name, "invoke") }

func (j *judged) readEvents(ctx context.Context, file string, n *numbers, began time.Time) error {
	text, err := exec.CommandContext(ctx, "jfr", "print", "--json", "--events", "jdk.ExecutionSample", "--stack-depth",
		"64", file).Output()
	if err != nil {
		return fmt.Errorf("jfr print: %w", err)
	}
	var all struct {
		Recording struct {
			Events []struct {
				Values struct {
					StartTime  time.Time
					StackTrace struct {
						Frames []struct {
							Method struct{ Name string }
						}
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("jfr print: %w", err)
	}
	for i := range all.Recording.Events {
		v := &all.Recording.Events[i].Values
		var methods []string
		for _, f := range v.StackTrace.Frames {
			methods = append(methods, f.Method.Name)
		}
		if slices.Contains(methods, "main") && v.StartTime.After(began) {
			j.add(methods, n, v.StartTime, v.StartTime)
		}
	}
	return nil
}

func (j *judged) readProfile(file string, n *numbers, began time.Time) error {
	p, err := parse(file)
	if err != nil {
		return err
	}
	for _, s := range p.Sample {
		var methods []string
		for _, l := range s.Location {
			for _, line := range l.Line {
				name := line.Function.Name
				if l.Mapping != nil && strings.HasPrefix(l.Mapping.File, "[HotSpot ") && name != "call_stub" {
					methods = append(methods, name[strings.LastIndexByte(name, '.')+1:])
				}
			}
		}
		end := s.NumLabel["end_timestamp_ns"]
		if len(end) == 0 || !slices.Contains(methods, "main") {
			continue
		}
		if to := time.Unix(0, end[0]); to.After(began) {
			j.add(methods, n, to.Add(-time.Duration(s.Value[recordings.WallColumn])), to)
		}
	}
	return nil
}
