/* A disk that fails and a clock that jumps, for a process that is started with this in LD_PRELOAD.

   torture_disk("/folder", 7): after seven more writes below the folder, each write, rename and truncation there gives
   EIO, for good. torture_clock(1): the time of day is a year ahead and a year back by turns. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static char place[4096];
static long left = -1;
static int jumping = 0;
static long calls = 0;

void torture_disk(const char *folder, long writes) { strncpy(place, folder, sizeof place - 1); left = writes; }
void torture_clock(int on) { jumping = on; }

static int fails(const char *path)
{
    if (left < 0 || strncmp(path, place, strlen(place))) return 0;
    if (left > 0) { left--; return 0; }
    errno = EIO;
    return 1;
}

static int fails_at(int file)
{
    char link[64], path[4096];
    ssize_t length;
    int before = errno;
    if (left < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0) { errno = before; return 0; }
    path[length] = 0;
    return fails(path);
}

#define NEXT(type, name) static type (*next)() = 0; if (!next) next = (type (*)())dlsym(RTLD_NEXT, name)

ssize_t write(int file, const void *data, size_t size) { NEXT(ssize_t, "write"); return fails_at(file) ? -1 : next(file, data, size); }
int ftruncate64(int file, off64_t size) { NEXT(int, "ftruncate64"); return fails_at(file) ? -1 : next(file, size); }
int rename(const char *from, const char *to) { NEXT(int, "rename"); return fails(to) ? -1 : next(from, to); }

int clock_gettime(clockid_t which, struct timespec *now)
{
    static int (*next)(clockid_t, struct timespec *) = 0;
    if (!next) next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int found = next(which, now);
    if (jumping && which == CLOCK_REALTIME) now->tv_sec += (++calls & 1 ? 1 : -1) * 365L * 86400;
    return found;
}
