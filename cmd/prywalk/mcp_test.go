// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"path/filepath"
	"testing"
	"time"
)

func TestACommandThatEndsByItsTimeLimitHasAResult(t *testing.T) {
	t.Setenv(asCommand, "1")
	pid, file := burner(t), filepath.Join(t.TempDir(), "r.pb.gz")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	output, code, err := runSelf(ctx, nil, "record", "-p", pid, "-d", "10m", "-o", file)
	if err != nil {
		t.Errorf("exit code %d, error %v, after %s", code, err, output)
	}
	if _, _, err := runSelf(ctx, nil, "version"); err == nil {
		t.Error("a command was started after the end of its context")
	}
}
