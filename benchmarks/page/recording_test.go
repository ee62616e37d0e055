// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	rec "prywalk/internal/store/profile"
)

func TestARecordingHasAllTimeOfAllThreadsAndIsTheSameEachTime(t *testing.T) {
	s := size{"test", 3 * time.Second, 5, 1.5, 50}
	files := [2][]byte{}
	for i := range files {
		name := filepath.Join(t.TempDir(), "recording.pb.gz")
		if _, err := s.write(name); err != nil {
			t.Fatal(err)
		}
		var err error
		if files[i], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two recordings of one size differ")
	}
	p, err := rec.Read(bytes.NewReader(files[0]))
	if err != nil {
		t.Fatal(err)
	}
	wall, running := int64(0), 0
	for _, sample := range p.Sample {
		wall += sample.Value[1]
		if sample.Value[3] > 0 {
			running++
		}
	}
	if wall != int64(s.threads)*int64(s.length) {
		t.Errorf("%v of wall time, want %d threads × %v", time.Duration(wall), s.threads, s.length)
	}
	if running < 3*95 || running > 6*104 {
		t.Errorf("%d intervals run", running)
	}
}
