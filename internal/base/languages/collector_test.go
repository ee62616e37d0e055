// SPDX-License-Identifier: Apache-2.0

package languages

import "testing"

func TestCollectorsAreThoseOfTheLanguagesFiles(t *testing.T) {
	for at, want := range map[[2]string]string{
		{"runtime.gcBgMarkWorker", "app"}:                          "Go's garbage collector",
		{"runtime.gcAssistAlloc", "app"}:                           "Go's garbage collector",
		{"runtime.mallocgc", "app"}:                                "",
		{"gc_collect_main", "libpython3.11.so.1.0"}:                "CPython's garbage collector",
		{"gc_collect_main.constprop.0", "python3.12"}:              "CPython's garbage collector",
		{"gc_collect_main", "app"}:                                 "",
		{"gc_alloc", "python3.12"}:                                 "",
		{"gc_marks_rest", "libruby-3.1.so.3.1.2"}:                  "Ruby's garbage collector",
		{"rb_gc_writebarrier", "libruby-3.1.so.3.1.2"}:             "",
		{"garbage_collect", "app"}:                                 "",
		{"zend_gc_collect_cycles", "php8.2"}:                       "PHP's garbage collector",
		{"compile_file", "php-fpm8.2"}:                             "PHP's compiler",
		{"compile_string", "php8.2"}:                               "PHP's compiler",
		{"compile_filename", "php-fpm8.2"}:                         "",
		{"compile_file", "app"}:                                    "",
		{"v8::internal::Heap::CollectGarbage", "node"}:             "Node's garbage collector",
		{"v8::internal::ScavengerCollector::JobTask::Run", "node"}: "Node's garbage collector",
		{"v8::internal::Heap::AllocateRaw", "node"}:                "",
	} {
		if got := Collector(at[0], at[1]); got != want {
			t.Errorf("%s of %s: %q, want %q", at[0], at[1], got, want)
		}
	}
}
