"""Output as it comes, and event loops."""
import asyncio
import os
import threading
import unittest

import abatis
from abatis import _pool
from common import PATIENCE, Scratch, alive, lasting, server_pid, unique

TWO = ["sh", "-c", "echo 1; until [ -e go ]; do sleep 0.02; done; echo 2 >&2; exit 3"]
FLOOD = ["sh", "-c", "exec yes 0123456789012345678901234567890123456789 0"]


class Streams(Scratch):
    def test_pieces_come_before_the_end(self):
        with abatis.stream(TWO) as stream:
            pieces = iter(stream)
            self.assertEqual(next(pieces), abatis.Output("stdout", b"1\n"))
            self.assertIsNone(stream.result)
            open("go", "w").close()
            self.assertEqual(list(pieces), [abatis.Output("stderr", b"2\n")])
        self.assertEqual(stream.result.exit_code, 3)

    def test_all_of_it_comes(self):
        with abatis.stream(["head", "-c", str(20 << 20), "/dev/zero"]) as stream:
            self.assertEqual(sum(len(piece.data) for piece in stream), 20 << 20)
        self.assertEqual(stream.result.stdout_bytes, 20 << 20)

    def test_leaving_ends_the_command(self):
        word = unique()
        with abatis.stream(["sh", "-c", "echo; sleep 600 & wait", word]) as stream:
            next(iter(stream))
            self.assertTrue(alive(word))
        self.assertFalse(alive(word))
        self.assertTrue(stream.result.cancelled)

    def test_who_does_not_read_holds_up_nobody_else(self):
        with abatis.stream(FLOOD) as stream:
            next(iter(stream))
            for number in range(20):
                self.assertEqual(abatis.run(["echo", str(number)]).stdout, f"{number}\n")
            stream.cancel()
            for _ in stream:
                pass
        self.assertTrue(stream.result.cancelled)

    def test_a_server_is_kept_for_the_next_stream(self):
        def pid():
            with abatis.stream(["true"]) as stream:
                for _ in stream:
                    pass
                return stream._server.process.pid

        self.assertEqual(pid(), pid())
        self.assertNotEqual(pid(), server_pid())

    def test_a_server_that_was_killed_is_an_error(self):
        with self.assertRaises(abatis.ServerError):
            with abatis.stream(TWO) as stream:
                for _ in stream:
                    stream._server.process.kill()
        with abatis.stream(["echo", "next"]) as stream:
            self.assertEqual([piece.text for piece in stream], ["next\n"])

    def test_what_cannot_be_is_refused(self):
        with self.assertRaisesRegex(ValueError, "session"):
            abatis.stream(["true"], session="a")
        with self.assertRaisesRegex(ValueError, "with"):
            iter(abatis.stream(["true"])).__next__()
        with self.assertRaises(abatis.RequestError):
            with abatis.stream(["nonesuch"]) as stream:
                list(stream)


class Loops(Scratch):
    def test_many_wait_at_once(self):
        async def main():
            script = "touch here-$0; until [ $(ls | grep -c here-) -ge 64 ]; do sleep 0.1; done; echo $0"
            results = await asyncio.gather(*(abatis.arun(["sh", "-c", script, str(number)]) for number in range(64)))
            return [result.stdout for result in results]

        self.assertEqual(asyncio.run(main()), [f"{number}\n" for number in range(64)])

    def test_more_may_wait_than_the_server_takes(self):
        async def main():
            return await asyncio.gather(*(abatis.arun(["echo", str(number)]) for number in range(1200)))

        self.assertEqual([result.stdout for result in asyncio.run(main())], [f"{number}\n" for number in range(1200)])

    def test_a_task_that_is_cancelled_has_its_command_ended(self):
        async def main():
            word = unique()
            task = asyncio.ensure_future(abatis.arun(lasting(word)))
            while not alive(word):
                await asyncio.sleep(0.01)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertFalse(alive(word))
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(abatis.arun(lasting(word)), 0.3)
            self.assertFalse(alive(word))
            self.assertTrue((await abatis.arun(["true"])).ok)

        asyncio.run(main())

    def test_one_that_was_not_sent_yet_is_cancelled_too(self):
        async def main():
            tasks = [asyncio.ensure_future(abatis.arun(["sh", "-c", "until [ -e go ]; do sleep 0.1; done"])) for _ in range(600)]
            await asyncio.sleep(0.1)
            tasks[-1].cancel()
            with self.assertRaises(asyncio.CancelledError):
                await tasks[-1]
            for task in tasks[64:]:
                task.cancel()
            open("go", "w").close()
            return await asyncio.gather(*tasks, return_exceptions=True)

        self.assertEqual(sum(isinstance(result, asyncio.CancelledError) for result in asyncio.run(main())), 600 - 64)

    def test_errors_and_checks_are_as_without_a_loop(self):
        async def main():
            with self.assertRaises(abatis.RequestError):
                await abatis.arun(["nonesuch"])
            with self.assertRaises(abatis.CommandFailed):
                await abatis.arun(["false"], check=True)

        asyncio.run(main())

    def test_a_server_that_dies_is_an_error_and_another_follows(self):
        async def main():
            pid, word = server_pid(), unique()
            task = asyncio.ensure_future(abatis.arun(lasting(word)))
            while not alive(word):
                await asyncio.sleep(0.01)
            os.kill(pid, 9)
            with self.assertRaises(abatis.ServerError):
                await task
            self.assertTrue((await abatis.arun(["true"])).ok)

        asyncio.run(main())

    def test_threads_and_loops_share_the_server(self):
        wrong = []

        def many():
            for number in range(30):
                if abatis.run(["echo", str(number)]).stdout != f"{number}\n":
                    wrong.append(number)

        async def main():
            for number in range(30):
                if (await abatis.arun(["echo", str(number)])).stdout != f"{number}\n":
                    wrong.append(number)

        threads = [threading.Thread(target=many), threading.Thread(target=many), threading.Thread(target=lambda: asyncio.run(main()))]
        for thread in threads:
            thread.start()
        asyncio.run(main())
        for thread in threads:
            thread.join(PATIENCE)
        self.assertFalse(wrong or any(thread.is_alive() for thread in threads))
        self.assertEqual(len(_pool.pool.shared), 1)

    def test_pieces_come_to_a_loop(self):
        async def main():
            async with abatis.astream(TWO) as stream:
                pieces = []
                async for piece in stream:
                    pieces.append((piece.name, piece.text))
                    open("go", "w").close()
            self.assertEqual(pieces, [("stdout", "1\n"), ("stderr", "2\n")])
            self.assertEqual(stream.result.exit_code, 3)
            async with abatis.astream(["head", "-c", str(5 << 20), "/dev/zero"]) as stream:
                self.assertEqual(sum([len(piece.data) async for piece in stream]), 5 << 20)

        asyncio.run(main())

    def test_leaving_a_stream_in_a_loop_ends_the_command(self):
        async def main():
            word = unique()
            async with abatis.astream(["sh", "-c", "echo; sleep 600 & wait", word]) as stream:
                async for _ in stream:
                    break
                self.assertTrue(alive(word))
            self.assertFalse(alive(word))

            async def reads():
                async with abatis.astream(["sh", "-c", "echo; sleep 600 & wait", word]) as stream:
                    async for _ in stream:
                        pass

            task = asyncio.ensure_future(reads())
            while not alive(word):
                await asyncio.sleep(0.01)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertFalse(alive(word))

        asyncio.run(main())


if __name__ == "__main__":
    unittest.main()
