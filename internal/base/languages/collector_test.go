// SPDX-License-Identifier: Apache-2.0

package languages

import "testing"

func TestCollectorsAreThoseOfTheLanguagesFiles(t *testing.T) {
	for at, want := range map[[2]string]string{
		{"runtime.gcBgMarkWorker", "app"}:                          "Go",
		{"runtime.gcAssistAlloc", "app"}:                           "Go",
		{"runtime.mallocgc", "app"}:                                "",
		{"gc_collect_main", "libpython3.11.so.1.0"}:                "CPython",
		{"gc_collect_main.constprop.0", "python3.12"}:              "CPython",
		{"gc_collect_main", "app"}:                                 "",
		{"gc_alloc", "python3.12"}:                                 "",
		{"gc_marks_rest", "libruby-3.1.so.3.1.2"}:                  "Ruby",
		{"rb_gc_writebarrier", "libruby-3.1.so.3.1.2"}:             "",
		{"garbage_collect", "app"}:                                 "",
		{"zend_gc_collect_cycles", "php8.2"}:                       "PHP",
		{"compile_file", "php-fpm8.2"}:                             "PHP",
		{"compile_filename", "php-fpm8.2"}:                         "",
		{"compile_file", "app"}:                                    "",
		{"v8::internal::Heap::CollectGarbage", "node"}:             "Node",
		{"v8::internal::ScavengerCollector::JobTask::Run", "node"}: "Node",
		{"v8::internal::Heap::AllocateRaw", "node"}:                "",
	} {
		if want != "" {
			want += map[bool]string{true: "'s compiler", false: "'s garbage collector"}[at[0] == "compile_file"]
		}
		if got := Collector(at[0], at[1]); got != want {
			t.Errorf("%s of %s: %q, want %q", at[0], at[1], got, want)
		}
	}
}
