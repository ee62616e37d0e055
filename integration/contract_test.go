// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
)

// Other programs rely on these names. A field that is named here may only be renamed with schema_version.
func TestJSONHasTheNamesOfTheContract(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	pid := strconv.Itoa(target.PID)
	file := filepath.Join(scratch(t, nil), "stats.json")
	prywalk(t, "record", "-p", pid, "-d", "1", "--engine", "ptrace", "-o", file+".pb.gz", "--stats", file).must(t, 0)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	stats := object(t, text)
	names(t, "--stats", stats, "schema_version ticks missed_ticks attempted stopped read_passively unchanged "+
		"kernel_sampled failed incomplete syscalls_restarted frames_by_method stop_us stops threads_max duration_s "+
		"frequency_got cpu_self_s cpu_target_s cpu_profiled_s scheduling long_stops lost_samples engine")
	names(t, "stop_us", object(t, stats["stop_us"]), "p50 p99 max")
	for _, bucket := range list(t, stats["stops"]) {
		names(t, "stops", bucket, "n below_us")
	}

	dump := object(t, []byte(prywalk(t, "dump", "--json", "-p", pid).must(t, 0).stdout))
	names(t, "dump", dump, "schema_version time host prywalk pid threads")
	how := map[string]bool{}
	for _, thread := range list(t, dump["threads"]) {
		names(t, "a thread", thread, "tid name state how complete stop_reason frames")
		var method string
		if err := json.Unmarshal(thread["how"], &method); err != nil {
			t.Fatal(err)
		}
		how[method] = true
		for i, frame := range list(t, thread["frames"]) {
			if i == 0 {
				names(t, "a frame", frame, "pc sp function module offset method")
			}
		}
	}
	if !how["stop"] || !how["passive"] || len(how) != 2 {
		t.Errorf("threads that run and threads that sleep have how %v, want stop and passive", how)
	}

	dead := object(t, []byte(prywalk(t, "dump", "--json", "--core", testtargets.Core(t, target.PID)).must(t, 0).stdout))
	for _, thread := range list(t, dead["threads"]) {
		if string(thread["how"]) != `"core"` {
			t.Errorf("a thread of a core has how %s", thread["how"])
		}
	}
	for _, old := range strings.Fields("frozen peeked reused sampled claimed unseen queued ticks_left_out slept_again " +
		"complete_by_look syscalls_told_twice told_twice_calls freeze_us freezes long_freezes freezes_throttled") {
		if _, has := stats[old]; has {
			t.Errorf("--stats has the old name %s", old)
		}
	}
}

func object(t *testing.T, text []byte) (fields map[string]json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatalf("%v: %s", err, clip(string(text)))
	}
	return fields
}

func list(t *testing.T, text []byte) (objects []map[string]json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal(text, &objects); err != nil || len(objects) == 0 {
		t.Fatalf("%v, %d elements: %s", err, len(objects), clip(string(text)))
	}
	return objects
}

func names(t *testing.T, of string, fields map[string]json.RawMessage, want string) {
	t.Helper()
	missing := slices.DeleteFunc(strings.Fields(want), func(name string) bool { _, has := fields[name]; return has })
	if len(missing) > 0 {
		t.Errorf("%s lacks %v", of, missing)
	}
}
