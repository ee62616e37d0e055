// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strconv"
	"strings"

	pprof "github.com/google/pprof/profile"

	"prywalk/benchmarks/perfscript"
)

// The name lacks enclosing functions.
type frame struct {
	file, function string
	line           int
}

type stack struct {
	frames []frame
	weight float64
	count  float64
	freed  bool
}

type profile struct {
	stacks []stack
	failed float64 // observations without a stack, by the tool's count; −1: unknown
	// prywalk's CPU time with the interpreter on the stack, and with Python names, s.
	interpreter, named float64
	silent             bool
}

// known has the pairs of caller and callee, as "file:function"; the caller of the first is "".
type known map[[2]string]bool

func (f *frame) key() string { return f.file + ":" + f.function }

type verdict int

const (
	right verdict = iota
	cut           // does not begin where a thread begins
	wrong         // has a call that never happened
)

func (k known) judge(s *stack) (v verdict, caller, callee string) {
	first := s.frames[0].key()
	for i := 1; i < len(s.frames); i++ {
		a, b := s.frames[i-1].key(), s.frames[i].key()
		if !k[[2]string{a, b}] {
			return wrong, a, b
		}
	}
	if !k[[2]string{"", first}] {
		return cut, "", first
	}
	return right, "", ""
}

func short(name string) string {
	return name[strings.LastIndexByte(name, '.')+1:]
}

func folded(line func(string) (stack, bool), failed func(said, text []byte) float64) func(string, []byte) (*profile,
	error) {
	return func(out string, said []byte) (*profile, error) {
		text, err := os.ReadFile(out)
		if err != nil {
			return nil, err
		}
		p := &profile{failed: failed(said, text)}
		for l := range strings.Lines(string(text)) {
			if s, ok := line(strings.TrimRight(l, "\n")); ok && len(s.frames) > 0 {
				p.stacks = append(p.stacks, s)
			}
		}
		return p, nil
	}
}

func weigh(line string) (rest string, n float64, ok bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.ParseFloat(line[i+1:], 64)
	return line[:i], n, err == nil && n >= 0
}

// Native functions have a library, or no line.
var pySpyFrame = regexp.MustCompile(`^(.+) \(([^()]+):(\d+)\)$`)

var compiled = regexp.MustCompile(`\.(c|h|cc|cpp|S|so[.\d]*)$`)

func pySpyLine(line string) (s stack, ok bool) {
	rest, n, ok := weigh(line)
	if !ok {
		return s, false
	}
	s.weight, s.count = n, n
	for part := range strings.SplitSeq(rest, ";") {
		m := pySpyFrame.FindStringSubmatch(part)
		if m == nil || compiled.MatchString(m[2]) {
			continue
		}
		at, _ := strconv.Atoi(m[3])
		s.frames = append(s.frames, frame{path.Base(m[2]), short(m[1]), at})
	}
	return s, true
}

func austinLine(line string) (s stack, ok bool) {
	rest, n, ok := weigh(line)
	if !ok || !strings.HasPrefix(rest, "P") {
		return s, false
	}
	s.weight, s.count = n, 1
	parts := strings.Split(rest, ";")
	for _, part := range parts[min(2, len(parts)):] {
		if strings.HasPrefix(part, ":") {
			continue
		}
		s.add(part)
	}
	return s, true
}

func tachyonLine(line string) (s stack, ok bool) {
	rest, n, ok := weigh(line)
	if !ok {
		return s, false
	}
	s.weight, s.count = n, n
	for part := range strings.SplitSeq(rest, ";") {
		if !strings.HasPrefix(part, "tid:") {
			s.add(part)
		}
	}
	return s, true
}

func (s *stack) add(text string) {
	last := strings.LastIndexByte(text, ':')
	if last < 0 {
		return
	}
	mid := strings.LastIndexByte(text[:last], ':')
	if mid < 0 {
		return
	}
	line, _ := strconv.Atoi(text[last+1:])
	s.frames = append(s.frames, frame{path.Base(text[:mid]), short(text[mid+1 : last]), line})
}

var pySpyErrors = regexp.MustCompile(`Errors: (\d+)`)

func pySpyFailed(said, _ []byte) float64 {
	m := pySpyErrors.FindSubmatch(said)
	if m == nil {
		return -1
	}
	n, _ := strconv.ParseFloat(string(m[1]), 64)
	return n
}

var austinErrors = regexp.MustCompile(`Error rate : \D*?(\d+)/(\d+)`)

var plain = regexp.MustCompile("\x1b\\[[0-9;]*m")

func austinFailed(said, _ []byte) float64 {
	m := austinErrors.FindSubmatch(plain.ReplaceAll(said, nil))
	if m == nil {
		return -1
	}
	n, _ := strconv.ParseFloat(string(m[1]), 64)
	return n
}

var (
	tachyonLooks  = regexp.MustCompile(`Captured (\d[\d,]*) samples`)
	tachyonErrors = regexp.MustCompile(`Error rate: ([\d.]+)`)
)

func tachyonFailed(said, _ []byte) float64 {
	looks, errors := tachyonLooks.FindSubmatch(said), tachyonErrors.FindSubmatch(said)
	if looks == nil {
		return -1
	}
	if errors == nil {
		return 0
	}
	n, _ := strconv.ParseFloat(strings.ReplaceAll(string(looks[1]), ",", ""), 64)
	share, _ := strconv.ParseFloat(string(errors[1]), 64)
	return n * share / 100
}

var perfFrame = regexp.MustCompile(`^py::(.+?):([^:]*)$`)

func readPerf(out string, _ []byte) (*profile, error) {
	text, err := exec.Command("perf", "script", "-i", out, "-F", perfscript.Fields).Output()
	if err != nil {
		return nil, err
	}
	p := &profile{}
	lost, err := perfscript.Parse(bytes.NewReader(text), func(sample *perfscript.Sample) error {
		s := stack{weight: 1, count: 1}
		for i := len(sample.Frames) - 1; i >= 0; i-- {
			if m := perfFrame.FindStringSubmatch(sample.Frames[i].Name); m != nil {
				s.frames = append(s.frames, frame{path.Base(m[2]), short(m[1]), 0})
			}
		}
		if len(s.frames) == 0 {
			p.failed++
			return nil
		}
		p.stacks = append(p.stacks, s)
		return nil
	})
	p.failed += float64(lost)
	return p, err
}

var interpreterFile = regexp.MustCompile(`^(lib)?python3`)

func readPrywalk(out string, _ []byte) (*profile, error) {
	text, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	p, err := fromPprof(text)
	if err != nil {
		return nil, err
	}
	said, err := os.ReadFile(out + ".stats")
	if err != nil {
		return nil, err
	}
	var stats struct {
		Failed map[string]float64 `json:"failed"`
	}
	if err := json.Unmarshal(said, &stats); err != nil {
		return nil, err
	}
	for _, n := range stats.Failed {
		p.failed += n
	}
	return p, nil
}

func fromPprof(text []byte) (*profile, error) {
	rec, err := pprof.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	p := &profile{}
	for _, sample := range rec.Sample {
		if len(sample.Value) < 4 || sample.Value[3] <= 0 {
			continue
		}
		s := stack{weight: float64(sample.Value[3]), count: float64(sample.Value[0])}
		inside := false
		for i := len(sample.Location) - 1; i >= 0; i-- {
			l := sample.Location[i]
			if l.Mapping == nil || len(l.Line) == 0 {
				continue
			}
			inside = inside || interpreterFile.MatchString(path.Base(l.Mapping.File))
			f := l.Line[0].Function
			switch {
			case !strings.HasPrefix(l.Mapping.File, "[CPython "):
			case f.Name == "[freed]":
				s.freed = true
			default:
				s.frames = append(s.frames, frame{path.Base(f.Filename), short(f.Name), int(l.Line[0].Line)})
			}
		}
		if inside {
			p.interpreter += s.weight / 1e9
		}
		if len(s.frames) > 0 || s.freed {
			if inside && !s.freed {
				p.named += s.weight / 1e9
			}
			p.stacks = append(p.stacks, s)
		}
	}
	return p, nil
}
