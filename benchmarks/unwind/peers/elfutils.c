// SPDX-License-Identifier: Apache-2.0
/* Walks recorded stacks with elfutils' libdwfl; usage: elfutils FILE PASSES COLDPASSES.
 *
 * libdwfl finds the rules of a frame anew each time; what it keeps are the modules and their entries. A cold pass
 * begins with a new Dwfl; reporting its modules does not count, finding their call frame information does. */
#include "stacks.h"

#include <elfutils/libdwfl.h>

static const struct stack *current;
static int count;

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	(void)dwfl, (void)arg;
	if (*thread != NULL)
		return 0;
	*thread = &current;
	return 1;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	(void)dwfl, (void)arg;
	uint64_t w;
	if (stack_word(current, addr, &w)) {
		*result = w;
		return true;
	}
	return false;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	(void)arg;
	Dwarf_Word regs[17];
	for (int i = 0; i < 16; i++)
		regs[i] = current->regs[i];
	regs[16] = current->pc;
	return dwfl_thread_state_registers(thread, 0, 17, regs);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread, .memory_read = memory_read, .set_initial_registers = set_registers};

static int find_elf(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base, char **file, Elf **elf)
{
	(void)m, (void)data, (void)name, (void)base, (void)file, (void)elf;
	return -1; /* every module was reported with its file */
}

static int no_debuginfo(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base, const char *file,
			const char *link, GElf_Word crc, char **found)
{
	(void)m, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)found;
	return -1;
}

static const Dwfl_Callbacks callbacks = {.find_elf = find_elf, .find_debuginfo = no_debuginfo};

static Dwfl *begin(void)
{
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Elf *elf = NULL;
	dwfl_report_begin(dwfl);
	for (uint32_t i = 0; i < n_modules; i++) {
		int again = 0;
		for (uint32_t j = 0; j < i; j++)
			again |= strcmp(modules[j].path, modules[i].path) == 0; /* a copy would overlap */
		if (again || modules[i].file == NULL)
			continue;
		Dwfl_Module *m = dwfl_report_elf(dwfl, modules[i].path, modules[i].path, -1, modules[i].bias, false);
		GElf_Addr bias;
		if (m != NULL && elf == NULL)
			elf = dwfl_module_getelf(m, &bias);
	}
	dwfl_report_end(dwfl, NULL, NULL);
	if (!dwfl_attach_state(dwfl, elf, 1, &thread_callbacks, NULL)) {
		fprintf(stderr, "elfutils: %s\n", dwfl_errmsg(-1));
		exit(1);
	}
	return dwfl;
}

static int frame(Dwfl_Frame *f, void *arg)
{
	(void)arg;
	Dwarf_Addr pc;
	bool activation;
	if (!dwfl_frame_pc(f, &pc, &activation) || count == MAX_FRAMES)
		return DWARF_CB_ABORT;
	got[count++] = pc;
	return DWARF_CB_OK;
}

static int walk(Dwfl *dwfl, const struct stack *s)
{
	current = s;
	count = 0;
	dwfl_getthread_frames(dwfl, 1, frame, NULL);
	return count;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	load(argv[1]);
	Dwfl *dwfl = begin();
	long frames = 0, n = 0;
	int right = 0;
	for (uint32_t i = 0; i < n_stacks; i++) {
		int k = walk(dwfl, &stacks[i]);
		frames += k;
		right += is_right(&stacks[i], k);
	}
	int64_t from = cpu_time();
	for (int p = 0; p < atoi(argv[2]); p++)
		for (uint32_t i = 0; i < n_stacks; i++)
			n += walk(dwfl, &stacks[i]);
	double warm = (double)(cpu_time() - from) / (n > 0 ? n : 1);
	dwfl_end(dwfl);
	int64_t cold = 0;
	n = 0;
	for (int p = 0; p < atoi(argv[3]); p++) {
		dwfl = begin();
		from = cpu_time();
		for (uint32_t i = 0; i < n_stacks; i++)
			n += walk(dwfl, &stacks[i]);
		cold += cpu_time() - from;
		dwfl_end(dwfl);
	}
	print_result(frames, warm, (double)cold / (n > 0 ? n : 1), right);
	return 0;
}
