/* The command that every contender launches; built static, so that no dynamic loader is timed. */
int main(void)
{
        return 0;
}
