// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

func TestProgramsReportWorkAndPerhapsTheirStops(t *testing.T) {
	for line, want := range map[string]report{
		"12 3000\n":           {work: 12, at: 3000},
		"12 3000 500 40 30\n": {work: 12, at: 3000, cpu: 500, lost: 40, longest: 30, self: true},
	} {
		if got, err := parse(line); err != nil || got != want {
			t.Errorf("%q: %+v, %v", line, got, err)
		}
	}
	for _, line := range []string{"", "\n", "12\n", "12 3000 500\n", "a b\n"} {
		if got, err := parse(line); err == nil {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

type answers struct {
	io.Writer
	io.Closer
}

func TestRedisCountsItsCommands(t *testing.T) {
	const answer = "$60\r\n# Stats\r\ntotal_connections_received:3\r\ntotal_commands_processed:4711\r\n\r\n+PONG\r\n"
	var asked bytes.Buffer
	s := session{redis: true, to: answers{Writer: &asked}, from: bufio.NewReader(strings.NewReader(answer))}
	if got, err := s.report(); err != nil || got.work != 4711 || asked.String() != "INFO stats\r\nPING\r\n" {
		t.Errorf("%+v, %v, %q", got, err, asked.String())
	}
	s.from = bufio.NewReader(strings.NewReader("-ERR\r\n"))
	if got, err := s.report(); err == nil {
		t.Errorf("without an end: %+v", got)
	}
}

func TestStatisticsOfARecording(t *testing.T) {
	var o outcome
	err := o.read(strings.NewReader(`{"cpu_target_s": 2, "cpu_unobserved_s": 0.5, "duration_s": 4, "lost_s": 0.02,
		"stop_us": {"max": 1500}, "stops": [{"n": 6}, {"n": 2}]}`))
	want := outcome{Stops: true, Lost: 0.01, Longest: 1.5, Sampled: true, Unobserved: 0.25, StopRate: 2}
	if err != nil || o != want {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestTheTableIsThatOfTheRawFile(t *testing.T) {
	at := time.Date(2026, 11, 30, 7, 0, 0, 0, time.UTC)
	first, raw := results{}, bytes.Buffer{}
	for i, m := range []measurement{
		{row{"16", "C", "none"}, outcome{Left: 1}}, {row{"4", "Go", "perf record -g"}, outcome{Left: 0.5}},
		{row{"4", "Go", "none"}, outcome{Left: 1}}, {row{"4", "C", "prywalk --engine auto"}, outcome{Left: 0.9, Stops: true}},
		{row{"4", "C", "prywalk --engine auto"}, outcome{Left: 0.7, Stops: true, Longest: 3}},
	} {
		m.At, m.LoadAverage = at.Add(time.Duration(i)*time.Minute), float64(10+i)
		if err := first.add(m, &raw); err != nil {
			t.Fatal(err)
		}
	}
	again := results{}
	if err := again.read(&raw); err != nil || !reflect.DeepEqual(first, again) {
		t.Errorf("%+v, %v", again, err)
	}
	text := again.text(&bench{length: 5 * time.Second})
	for _, want := range []string{
		"30 November 2026 07:00 to 07:04, load average 10 to 10 beside 16 busy processes, load average 11 to 14 beside 4",
		"n measurements of 5s",
		"| 4 | C | prywalk --engine auto | 2 | 0.0 (0.0 to 0.0) | 80 (70 to 90) | 0 (0 to 0) | 0.00 (0.00 to 0.00) | " +
			"1.50 (0.00 to 3.00) |  |  |",
		"| 4 | Go | none | 1 | 0.0 (0.0 to 0.0) | 100 (100 to 100) | 0 (0 to 0) |  |  |  |  | 0.0 (0.0 to 0.0) |\n" +
			"| 4 | Go | perf record -g | 1 |",
		"0.0 (0.0 to 0.0) |\n| 16 | C | none |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
}

func TestTheMeanOfTwoWithoutAToolIsAll(t *testing.T) {
	bare := []outcome{{Rate: 1, PerCPU: 20}, {Rate: 3, PerCPU: 40}}
	with, without, got := row{"4", "C", "perf record -g"}, row{"4", "C", none}, results{}
	round := results{with: {{Rate: 1.5, PerCPU: 15}}, without: bare}
	if err := got.addRound(round, bare, io.Discard); err != nil {
		t.Fatal(err)
	}
	if o := got[with][0]; o.Left != 0.75 || o.LeftPerCPU != 0.5 {
		t.Errorf("%+v", o)
	}
	if o := got[without]; len(o) != 2 || o[0].Left != 0.5 || o[1].Left != 1.5 {
		t.Errorf("%+v", o)
	}
}

func TestToolsHaveTheirOwnWayToSayHowLong(t *testing.T) {
	b := bench{length: 1500 * time.Millisecond}
	for want, tool := range map[string]tool{
		"p record -p 7 -d 1.5s":         {args: []string{"p", "record"}, prywalk: true},
		"perf record -p 7 -- sleep 1.5": {args: []string{"perf", "record"}},
		"py-spy record -p 7 -d 2":       {args: []string{"py-spy", "record"}, only: "Python"},
	} {
		if got := strings.Join(tool.command(context.Background(), &b, 7).Args, " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheTargetInCReportsItsWorkAndStops(t *testing.T) {
	testtargets.NeedProgram(t, "cc")
	dir, err := os.MkdirTemp("", "busyhost-") // other users can reach it, unlike t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	b := bench{dir: dir}
	if err := b.prepare(t.Context(), programs[:1], "unused", []string{"auto"}); err != nil {
		t.Fatal(err)
	}
	s, err := b.start(t.Context(), programs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer s.end()
	first, err := s.report()
	for last := first; err == nil && last.work == first.work; last, err = s.report() {
		if !last.self || last.at < first.at {
			t.Fatalf("%+v", last)
		}
	}
	if err != nil {
		t.Error(err)
	}
}
