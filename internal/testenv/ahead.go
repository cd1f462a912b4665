package testenv

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// aheadSource is a library that moves the time of a program by the seconds in a file, which it maps into memory.
// libfaketime does not work with Redis: both wait for jemalloc.
const aheadSource = `#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long *ahead;

__attribute__((constructor)) static void start(void) {
  ahead = mmap(NULL, sizeof(long), PROT_READ, MAP_SHARED, open(getenv("CLOCK_AHEAD"), O_RDONLY), 0);
}

int clock_gettime(clockid_t clock, struct timespec *t) {
  int failed = syscall(SYS_clock_gettime, clock, t);
  if (clock == CLOCK_REALTIME && ahead) t->tv_sec += *ahead;
  return failed;
}

int gettimeofday(struct timeval *t, void *zone) {
  struct timespec now;
  int failed = clock_gettime(CLOCK_REALTIME, &now);
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return failed;
}

time_t time(time_t *t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t) *t = now.tv_sec;
  return now.tv_sec;
}
`

// StartRedisAhead is StartRedis with a clock of its own: set moves it ahead of the machine's.
func StartRedisAhead(t T) (s *Server, set func(ahead time.Duration)) {
	t.Helper()
	require(t, append(redisServer.needs, "gcc")...)
	dir := SharedDir(t, "clock")
	file, source, library := filepath.Join(dir, "ahead"), filepath.Join(dir, "ahead.c"), filepath.Join(dir, "ahead.so")
	mapped, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	t.Cleanup(func() { _ = mapped.Close() })
	set = func(ahead time.Duration) {
		t.Helper()
		seconds := binary.NativeEndian.AppendUint64(nil, uint64(ahead/time.Second)) // as a long has it
		if _, err := mapped.WriteAt(seconds, 0); err != nil {                       // the file never gets shorter
			t.Fatalf("testenv: %v", err)
		}
	}
	set(0)
	if err := os.WriteFile(source, []byte(aheadSource), 0o600); err != nil {
		t.Fatalf("testenv: %v", err)
	}
	if out, err := runChild(exec.Command("gcc", "-shared", "-fPIC", "-O1", "-o", library, source)); err != nil {
		t.Fatalf("testenv: compile a clock: %v\n%s", err, out)
	}
	prog := redisServer
	prog.command = func(p *process) (*exec.Cmd, error) {
		cmd, err := redisCommand(p, "--appendfsync", "always")
		if err == nil {
			cmd.Env = append(os.Environ(), "LD_PRELOAD="+library, "CLOCK_AHEAD="+file)
		}
		return cmd, err
	}
	return own(t, prog), set
}
