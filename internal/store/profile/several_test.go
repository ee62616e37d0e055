// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/host/filememory"
)

func TestSeveralProfilesAreBoundedTogether(t *testing.T) {
	filememory.Process().SetTotal(64 << 20)
	t.Cleanup(func() { filememory.Process().SetTotal(filememory.DefaultTotal) })
	before := filememory.Process().Used()
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, TimeNanos: 1,
		Location: []*pprof.Location{{ID: 1, Address: 1}}}
	for i := range 8000 {
		p.Sample = append(p.Sample, &pprof.Sample{Location: p.Location, Value: []int64{1},
			NumLabel: map[string][]int64{"tid": {int64(i)}}})
	}
	file := filepath.Join(t.TempDir(), "p.pb.gz")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Write(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := ReadFile(file); err != nil || filememory.Process().Used() != before {
			t.Fatalf("alone: %v, %d bytes are still taken", err, filememory.Process().Used()-before)
		}
	}
	read := 0
	for err == nil && read < 100 {
		var memory *filememory.Account
		if _, memory, err = readFile(file); err == nil {
			read++
		}
		defer memory.Close()
	}
	taken := filememory.Process().Used() - before
	if !errors.Is(err, errTooLarge) || read < 2 || taken > filememory.Process().Limit() || taken < int64(read)*8000*100 {
		t.Errorf("%d were read, with %d bytes taken: %v", read, taken, err)
	}
}
