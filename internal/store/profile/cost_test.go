// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/base/protobuf"
	"prywalk/internal/host/filememory"
)

func same(t *testing.T, got, want *pprof.Profile, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("the library reads it: %v", err)
		return
	}
	for i, s := range got.Sample {
		w := want.Sample[i]
		if len(s.Location) == 0 && len(w.Location) == 0 {
			s.Location = w.Location
		}
		if !reflect.DeepEqual(s.Label, w.Label) || !reflect.DeepEqual(s.NumLabel, w.NumLabel) ||
			!reflect.DeepEqual(s.NumUnit, w.NumUnit) {
			t.Errorf("sample %d: labels %v %v %v, the library's %v %v %v", i, s.Label, s.NumLabel, s.NumUnit, w.Label,
				w.NumLabel, w.NumUnit)
		}
	}
	if got.String() != want.String() {
		t.Errorf("got\n%s\nthe library\n%s", got, want)
	}
}

func TestProfilesAreReadAsTheLibraryReadsThem(t *testing.T) {
	data := unzipped(t, written(t))
	want, err := pprof.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(bytes.NewReader(data))
	same(t, got, want, err)
	rng := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		raw := randomProfile(rng)
		want, err := pprof.ParseUncompressed(raw)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(bytes.NewReader(raw))
		same(t, got, want, err)
	}
}

func randomProfile(rng *rand.Rand) []byte {
	var m, sub, l protobuf.Message
	out := []byte{}
	add := func(number int, body []byte) {
		m = m[:0]
		m.Bytes(number, body)
		out = append(out, m...)
	}
	add(fieldSampleType, []byte{8, 1, 16, 2})
	for _, s := range []string{"", "cpu", "nanoseconds", "key", "other", "value", "more"} {
		add(fieldString, []byte(s))
	}
	for id := range uint64(4) {
		sub = sub[:0]
		sub.Uint(1, id+1)
		sub.Uint(3, id*16)
		add(fieldLocation, sub)
	}
	for range rng.IntN(20) {
		sub = sub[:0]
		if rng.IntN(2) == 0 {
			for range rng.IntN(4) {
				sub.Uint(sampleLocations, rng.Uint64N(4)+1)
			}
		} else {
			sub.Bytes(sampleLocations, []byte{1, 2, byte(rng.IntN(4) + 1)})
		}
		sub.Bytes(sampleValues, binary.AppendUvarint(nil, rng.Uint64N(1000)))
		for range rng.IntN(12) {
			l = l[:0]
			l.Uint(labelKey, rng.Uint64N(2)+3)
			l.Uint(labelStr, rng.Uint64N(3)*uint64(rng.IntN(2)))
			l.Uint(labelNum, rng.Uint64N(3))
			l.Uint(labelUnit, rng.Uint64N(7)*uint64(rng.IntN(2)))
			sub.Bytes(sampleLabel, l)
		}
		add(fieldSample, sub)
	}
	return out
}

func bombs(size int) map[string][]byte {
	repeat := func(number int, body ...byte) []byte {
		var m protobuf.Message
		m.Bytes(number, body)
		return bytes.Repeat(m, size/len(m))
	}
	within := func(number, inner int, body ...byte) []byte {
		var m protobuf.Message
		m.Bytes(number, repeat(inner, body...))
		return m
	}
	list := bytes.Repeat([]byte{1}, size)
	one := func(number, inner int) []byte {
		var m, sub protobuf.Message
		sub.Bytes(inner, list)
		m.Bytes(number, sub)
		return m
	}
	var all, sub, l protobuf.Message
	for i := uint64(1); len(all) < size; i++ {
		sub = sub[:0]
		l = l[:0]
		l.Uint(labelKey, 1)
		l.Uint(labelNum, i)
		sub.Bytes(sampleLabel, l)
		l = l[:0]
		l.Uint(labelKey, i)
		l.Uint(labelStr, 1)
		sub.Bytes(sampleLabel, l)
		all.Bytes(fieldSample, sub)
	}
	// otherwise its references are refused early
	good := func(b []byte) []byte {
		return append([]byte{fieldString<<3 | protobuf.Bytes, 0, fieldSampleType<<3 | protobuf.Bytes, 0}, b...)
	}
	text := bytes.Repeat([]byte("1: 2 [3: 4] @ 0x1 0x2\n"), size/22)
	proto := map[string][]byte{
		"samples": repeat(fieldSample), "mappings": repeat(fieldMapping), "locations": repeat(fieldLocation),
		"functions": repeat(fieldFunction), "strings": repeat(fieldString), "types": repeat(fieldSampleType),
		"periods": repeat(fieldPeriodType), "comments": repeat(fieldComment, 1),
		"labels":       within(fieldSample, sampleLabel),
		"label maps":   repeat(fieldSample, sampleLabel<<3|protobuf.Bytes, 2, labelNum<<3, 1),
		"lines":        within(fieldLocation, 4),
		"packed stack": one(fieldSample, sampleLocations), "packed values": one(fieldSample, sampleValues),
		"stack":  within(fieldSample, sampleLocations, 1),
		"unique": all, "unknown": append(repeat(fieldSample), repeat(30)...), "broken": append(repeat(fieldSample), 7),
	}
	for name := range proto {
		proto[name] = good(proto[name])
	}
	proto["text"] = append([]byte("heap profile: 1: 2 [3: 4] @ heap/1\n"), text...)
	return proto
}

func taken(t *testing.T, data []byte, limit int64) (allocated, peak int64, err error) {
	t.Helper()
	mem := filememory.New(limit)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	memory := mem.AccountOfWhole("it")
	_, err = readFrom(bytes.NewReader(data), int64(len(data)), memory)
	runtime.ReadMemStats(&after)
	if err != nil && mem.Used() != 0 {
		t.Errorf("%v, and %d bytes are still taken", err, mem.Used())
	}
	memory.Close()
	if mem.Used() != 0 {
		t.Errorf("%d bytes are still taken", mem.Used())
	}
	return int64(after.TotalAlloc - before.TotalAlloc), mem.Peak(), err
}

func TestCostsAreNotLess(t *testing.T) {
	for name, data := range bombs(1 << 20) {
		got, peak, err := taken(t, data, 1<<40)
		t.Logf("%-14s %8d bytes, %10d allocated, %11d taken: %v", name, len(data), got, peak, err)
		if got > peak+1<<20 {
			t.Errorf("%s: %d bytes allocated, and %d taken", name, got, peak)
		}
	}
}

func TestBombsAreRefusedBeforeTheyGrow(t *testing.T) {
	const limit = 12 << 20
	for name, data := range bombs(8 << 20) {
		data = zipped(data)
		got, peak, err := taken(t, data, limit)
		t.Logf("%-14s %8d bytes, %10d allocated, %11d taken: %v", name, len(data), got, peak, err)
		if err == nil || peak > limit || got > limit+limit/4 {
			t.Errorf("%s: %v, %d bytes allocated, %d taken", name, err, got, peak)
		}
		if !errors.Is(err, errTooLarge) && !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A sample of a running thread has nine fields, and a long recording has millions of samples.
func TestOnlyMemoryBoundsTheNumberOfSamples(t *testing.T) {
	const samples = 4 << 20
	var sample protobuf.Message
	sample.Bytes(fieldSample, bytes.Repeat([]byte{0x1a, 0}, 9))
	c := costOf(bytes.Repeat(sample, samples))
	if !c.ok || c.fieldsExceeded || c.samples != samples || c.ownDecoder < samples*sampleCost {
		t.Errorf("%+v", c)
	}
}

func TestMemoryIsInProportionToTheFile(t *testing.T) {
	var file bytes.Buffer
	for name, b := range map[string]*Builder{"a server": bigBuilder(), "short lives": shortLives()} {
		file.Reset()
		if err := b.Write(&file, names); err != nil {
			t.Fatal(err)
		}
		got, peak, err := taken(t, file.Bytes(), 1<<40)
		t.Logf("%s: %d bytes, %d allocated, %d taken: %d for each", name, file.Len(), got, peak, peak/int64(file.Len()))
		if err != nil || peak > memoryPerByte*int64(file.Len()) {
			t.Errorf("%s: %v, %d taken for %d bytes", name, err, peak, file.Len())
		}
	}
	sparse := filepath.Join(t.TempDir(), "sparse")
	if err := os.WriteFile(sparse, file.Bytes()[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, maxSize); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(sparse)
	if err != nil || bytesOnDisk(st) > 1<<20 {
		t.Errorf("%d bytes are stored, %v", bytesOnDisk(st), err)
	}
}

func TestKeptProfilesStayCharged(t *testing.T) {
	for name, b := range map[string]*Builder{"a server": bigBuilder(), "short lives": shortLives()} {
		var file bytes.Buffer
		if err := b.Write(&file, names); err != nil {
			t.Fatal(err)
		}
		memory := filememory.New(1 << 40).AccountOfWhole("it")
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		p, err := readFrom(bytes.NewReader(file.Bytes()), int64(file.Len()), memory)
		runtime.GC()
		runtime.ReadMemStats(&after)
		kept := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		t.Logf("%s: %d bytes are kept, %d charged", name, kept, memory.Used())
		if err != nil || kept > memory.Used()+1<<20 {
			t.Errorf("%s: %v, %d bytes are kept, and %d charged", name, err, kept, memory.Used())
		}
		runtime.KeepAlive(p)
	}
}

func shortLives() *Builder {
	rng := rand.New(rand.NewPCG(1, 2))
	b := NewBuilder(Meta{Start: time.Unix(1, 0), Period: 1e7})
	stack := make([]Loc, 40)
	for i := range 50_000 {
		for d := range stack {
			stack[d] = Loc{Module: testMain, Addr: 0x400000 + uint64(d*1000+i%20>>(d/4))}
		}
		tid := i / 10
		b.Add(Interval{Stack: b.Intern(stack), PID: 1, TID: tid, Comm: "server", Thread: fmt.Sprintf("request-%d", tid),
			State: "running", End: int64(i)*1e5 + rng.Int64N(1e4), Samples: 1, Wall: 1e7 + rng.Int64N(1e5),
			RunQueue: rng.Int64N(1e5), CPU: 9e6 + rng.Int64N(1e6)})
	}
	return b
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

func TestEndlessInputIsRefused(t *testing.T) {
	mem := filememory.New(8 << 20)
	if _, err := readAll(endless{}, mem.AccountOfWhole("it")); !errors.Is(err, errTooLarge) || mem.Peak() > 8<<20 ||
		mem.Used() != 0 {
		t.Errorf("%v, %d taken, %d left", err, mem.Peak(), mem.Used())
	}
	b, err := readAll(bytes.NewReader(make([]byte, 100_000)), mem.AccountOfWhole("it"))
	if err != nil || len(b) != 100_000 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if _, err := readAll(io.MultiReader(bytes.NewReader([]byte{1}), failing{}), mem.AccountOfWhole("it")); err == nil {
		t.Error("no error")
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("no more") }
